// Death, silence, cancel and restart: every read ends once, in bounded time, with the right bytes
// or with an error.
#include <doctest/doctest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "base/crc32c.hpp"
#include "tests/transport/peer_process.hpp"
#include "transport/address.hpp"

using namespace troupe;
using namespace troupe::transport;
using namespace troupe::transport::testing;

namespace {

constexpr size_t block_bytes = 1474560;
constexpr uint32_t num_pages = 8;

/// Collects the ends of many reads.
class Ends {
 public:
  ReadCallback expect() {
    const std::lock_guard lock(mutex_);
    const size_t index = calls_.size();
    calls_.push_back(0);
    return [this, index](Result<ReadDone> result) {
      const std::lock_guard inner(mutex_);
      ++calls_[index];
      ++codes_[result.ok() ? Code::ok : result.error().code];
      ++ended_;
      if (!result.ok() && first_error_.empty()) first_error_ = result.error().message();
      changed_.notify_all();
    };
  }
  bool wait_all(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return ended_ >= calls_.size(); });
  }
  bool wait_some(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return ended_ >= count; });
  }
  std::string summary() {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const auto& [code, count] : codes_) {
      text += std::string(troupe::name(code)) + " " + std::to_string(count) + "; ";
    }
    return text + first_error_;
  }
  size_t count(Code code) {
    const std::lock_guard lock(mutex_);
    return codes_[code];
  }
  bool each_once() {
    const std::lock_guard lock(mutex_);
    return std::all_of(calls_.begin(), calls_.end(), [](int n) { return n == 1; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> calls_;
  std::map<Code, size_t> codes_;
  size_t ended_ = 0;
  std::string first_error_;
};

void read_round(const LocalEnd& end, PeerId peer, Ends& ends, uint64_t token = granted_token) {
  static const std::vector<uint32_t> checksums = [] {
    std::vector<uint32_t> sums;
    for (uint32_t i = 0; i < num_pages; ++i) sums.push_back(page_checksum(i, block_bytes));
    return sums;
  }();
  for (uint32_t i = 0; i + 1 < num_pages; ++i) {
    end.transport->read(peer, {token, i, i, checksums[i]}, ends.expect());
  }
}

PeerOptions options() {
  PeerOptions result;
  result.block_bytes = block_bytes;
  result.num_pages = num_pages;
  return result;
}

/// Kills the source while reads run, and goes on reading until that is noticed.
void kill_source(PathPreference preference) {
  PeerProcess source(options());
  TransportOptions here;
  here.read_timeout_us = 4'000'000;
  Ends ends;
  const LocalEnd end = local_end(block_bytes, num_pages, here);
  const auto peer = end.transport->connect(source.address(), preference);
  REQUIRE(peer.ok());
  for (int i = 0; i < 40; ++i) read_round(end, *peer, ends);
  REQUIRE(ends.wait_some(10));
  source.kill();
  const auto killed = std::chrono::steady_clock::now();
  while (ends.count(Code::unavailable) == 0 &&
         std::chrono::steady_clock::now() - killed < std::chrono::seconds(5)) {
    read_round(end, *peer, ends);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK(ends.wait_all(std::chrono::milliseconds(6000)));
  CHECK(ends.each_once());
  CHECK(ends.count(Code::unavailable) > 0);
  CHECK(ends.count(Code::corrupt) == 0);
  CHECK(ends.count(Code::timeout) == 0);
  CHECK(end.transport->stats().reads_in_progress == 0);
  const auto after = end.read(*peer, {granted_token, 0, 0, 0});
  REQUIRE(!after.ok());
  CHECK(after.error().code == Code::unavailable);
}

}  // namespace

TEST_CASE("a source that is killed ends reads over TCP") {
  kill_source(PathPreference::tcp);
}

TEST_CASE("a source that is killed ends reads over shared memory") {
  kill_source(PathPreference::shared_memory);
}

TEST_CASE("a source that is stopped ends reads over TCP by their deadline, and may come back") {
  const PeerProcess source(options());
  TransportOptions here;
  here.read_timeout_us = 500'000;
  Ends ends;
  const LocalEnd end = local_end(block_bytes, num_pages, here);
  const auto peer = end.transport->connect(source.address(), PathPreference::tcp);
  REQUIRE(peer.ok());
  for (int i = 0; i < 20; ++i) read_round(end, *peer, ends);
  REQUIRE(ends.wait_some(5));
  source.signal(SIGSTOP);
  CHECK(ends.wait_all(std::chrono::milliseconds(3500)));
  CHECK(ends.each_once());
  CHECK_MESSAGE(ends.count(Code::timeout) > 0, ends.summary());
  CHECK(ends.count(Code::corrupt) == 0);
  std::memset(end.region.data, 0x5a, end.region.bytes);
  const uint32_t canary = crc32c({end.region.data, end.region.bytes});
  source.signal(SIGCONT);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK(crc32c({end.region.data, end.region.bytes}) == canary);
  Ends later;
  read_round(end, *peer, later);
  CHECK(later.wait_all(std::chrono::milliseconds(3500)));
  CHECK_MESSAGE(later.count(Code::ok) == num_pages - 1, later.summary());
}

TEST_CASE("shared memory of a stopped source can still be read") {
  const PeerProcess source(options());
  Ends ends;
  const LocalEnd end = local_end(block_bytes, num_pages);
  source.signal(SIGSTOP);
  const auto peer = end.transport->connect(source.address(), PathPreference::shared_memory);
  REQUIRE(peer.ok());
  read_round(end, *peer, ends);
  CHECK(ends.wait_all(std::chrono::milliseconds(3500)));
  CHECK(ends.count(Code::ok) == num_pages - 1);
}

TEST_CASE("cancel ends all reads of a session and leaves others alone") {
  const PeerProcess source(options());
  const LocalEnd end = local_end(block_bytes, num_pages);
  for (const auto preference : {PathPreference::shared_memory, PathPreference::tcp}) {
    const auto peer = end.transport->connect(source.address(), preference);
    REQUIRE(peer.ok());
    Ends cancelled;
    Ends kept;
    for (int i = 0; i < 30; ++i) read_round(end, *peer, cancelled, 8);
    read_round(end, *peer, kept);
    end.transport->cancel_session(8);
    CHECK(cancelled.wait_all(std::chrono::milliseconds(2500)));
    CHECK(cancelled.each_once());
    CHECK(cancelled.count(Code::cancelled) > 0);
    CHECK(cancelled.count(Code::timeout) == 0);
    CHECK(kept.wait_all(std::chrono::milliseconds(5000)));
    CHECK(kept.count(Code::ok) == num_pages - 1);
  }
}

TEST_CASE("cancel of a session whose source is stopped ends within two seconds") {
  const PeerProcess source(options());
  Ends ends;
  const LocalEnd end = local_end(block_bytes, num_pages);
  const auto peer = end.transport->connect(source.address(), PathPreference::tcp);
  REQUIRE(peer.ok());
  for (int i = 0; i < 20; ++i) read_round(end, *peer, ends);
  REQUIRE(ends.wait_some(5));
  source.signal(SIGSTOP);
  end.transport->cancel_session(granted_token);
  CHECK(ends.wait_all(std::chrono::milliseconds(2500)));
  CHECK(ends.each_once());
  CHECK_MESSAGE(ends.count(Code::cancelled) > 0, ends.summary());
  source.signal(SIGCONT);
}

TEST_CASE("random cancels and disconnects never lose or repeat an end") {
  const PeerProcess source(options());
  const LocalEnd end = local_end(block_bytes, num_pages);
  std::mt19937 random(1);
  size_t lost = 0;
  for (int round = 0; round < 60; ++round) {
    const auto preference = random() % 2 == 0 ? PathPreference::tcp : PathPreference::shared_memory;
    const auto peer = end.transport->connect(source.address(), preference);
    REQUIRE(peer.ok());
    Ends ends;
    for (uint32_t i = 0; i < 1 + random() % 3; ++i) read_round(end, *peer, ends);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 4000));
    if (random() % 2 == 0) end.transport->cancel_session(granted_token);
    end.transport->disconnect(*peer);
    REQUIRE(ends.wait_all(std::chrono::milliseconds(5000)));
    CHECK(ends.each_once());
    CHECK(ends.count(Code::corrupt) + ends.count(Code::timeout) == 0);
    lost += ends.count(Code::unavailable);
  }
  CHECK(lost == 0);
  CHECK(end.transport->stats().reads_in_progress == 0);
}

TEST_CASE("a process that took over an old address is refused") {
  const PeerProcess source(options());
  const LocalEnd end = local_end(block_bytes, num_pages);
  auto address = parse_address(source.address());
  REQUIRE(address.ok());
  address->incarnation ^= 1;
  const std::string stale = encode(*address);
  const auto direct = end.transport->connect(stale, PathPreference::shared_memory);
  REQUIRE(!direct.ok());
  CHECK(direct.error().code == Code::unavailable);
  const auto over_tcp = end.transport->connect(stale, PathPreference::tcp);
  REQUIRE(over_tcp.ok());
  const auto refused = end.read(*over_tcp, {granted_token, 0, 0, page_checksum(0, block_bytes)});
  REQUIRE(!refused.ok());
  // It does not even let us in: our ticket is for the process that was there.
  CHECK(refused.error().code == Code::unavailable);
  CHECK(*end.page(0) == std::byte{0});
}

TEST_CASE("the address of a process that is gone leads nowhere") {
  PeerProcess source(options());
  const std::string address = source.address();
  CHECK(source.quit() == 0);
  const LocalEnd end = local_end(block_bytes, num_pages);
  const auto direct = end.transport->connect(address, PathPreference::shared_memory);
  REQUIRE(!direct.ok());
  CHECK(direct.error().code == Code::unavailable);
  const auto peer = end.transport->connect(address, PathPreference::tcp);
  if (peer.ok()) CHECK(end.read(*peer, {1, 0, 0, 0}).error().code == Code::unavailable);
}

TEST_CASE("processes end cleanly and leave nothing behind") {
  const auto names = [] {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      if (entry.path().filename().string().starts_with("ucx")) found.insert(entry.path());
    }
    return found;
  };
  const auto before = names();
  for (const bool tcp_only : {false, true}) {
    PeerOptions source_options = options();
    source_options.tcp_only = tcp_only;
    PeerProcess source(source_options);
    PeerOptions reader_options = options();
    reader_options.role = "reader";
    reader_options.address = source.address();
    PeerProcess reader(reader_options);
    CHECK(reader.address() == (tcp_only ? "tcp" : "shared_memory"));
    CHECK(reader.quit() == 0);
    CHECK(source.quit() == 0);
    for (const PeerProcess* process : {&source, &reader}) {
      const std::string said = process->output();
      CHECK_MESSAGE(said.find("was not returned") == std::string::npos, said);
      CHECK_MESSAGE(said.find("ERROR") == std::string::npos, said);
      CHECK_MESSAGE(said.find("WARN") == std::string::npos, said);
    }
  }
  CHECK(names() == before);
}

TEST_CASE("a region may outlive its transport") {
  kv::Region region;
  {
    LocalEnd end = local_end(65536, 4);
    region = end.region;
  }
  std::memset(region.data, 1, region.bytes);
  CHECK(region.data[region.bytes - 1] == std::byte{1});
}

TEST_CASE("destruction ends reads that are still running") {
  const PeerProcess source(options());
  Ends ends;
  {
    const LocalEnd end = local_end(block_bytes, num_pages);
    const auto peer = end.transport->connect(source.address(), PathPreference::tcp);
    REQUIRE(peer.ok());
    for (int i = 0; i < 50; ++i) read_round(end, *peer, ends);
  }
  CHECK(ends.wait_all(std::chrono::milliseconds(0)));
  CHECK(ends.each_once());
  CHECK(ends.count(Code::ok) + ends.count(Code::cancelled) == 50 * (num_pages - 1));
}

TEST_CASE("first contact over TCP works every time") {
  for (int n = 0; n < 25; ++n) {
    const PeerProcess source(options());
    Ends ends;
    const LocalEnd end = local_end(block_bytes, num_pages);
    const auto peer = end.transport->connect(source.address(), PathPreference::tcp);
    REQUIRE(peer.ok());
    read_round(end, *peer, ends);
    CHECK(ends.wait_all(std::chrono::milliseconds(12000)));
    CHECK_MESSAGE(ends.count(Code::ok) == num_pages - 1, ends.summary(), source.output());
  }
}
