// A real process writes blocks to disk and is killed at any moment, again and again: what is found
// afterwards is whole.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>

#include "kv/disk_threads.hpp"
#include "kv/disk_tier.hpp"
#include "tests/kv/disk_blocks.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::kv;
using namespace troupe::testing;

namespace {

constexpr size_t block_bytes = 24 * 1024 + 8;
constexpr uint64_t disk_bytes = 4u << 20;
constexpr uint32_t names = 400;

/// A tier on real threads, driven by one caller.
struct RealTier {
  explicit RealTier(std::unique_ptr<DiskFolder> folder)
      : found(*folder->find_all()), threads(std::move(folder)) {
    tier.load(found);
    tier.adopt(some_fingerprint(), block_bytes);
  }

  /// Takes in what has ended; waits for a read or write.
  std::vector<DiskOutcome> wait() {
    std::vector<DiskOutcome> outcomes;
    while (outcomes.empty()) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [this] { return !ended.empty(); });
      std::vector<DiskDone> now = std::move(ended);
      ended.clear();
      lock.unlock();
      for (const DiskDone& done : now) {
        if (const auto outcome = tier.on_done(done, now_us())) outcomes.push_back(*outcome);
      }
    }
    return outcomes;
  }

  void submit(DiskJob job) {
    threads.submit(std::move(job), [this](const DiskDone& done) {
      const std::lock_guard lock(mutex);
      ended.push_back(done);
      changed.notify_one();
    });
  }

  EventLog events;
  DiskTier tier{disk_bytes, events, [this](DiskJob job) { submit(std::move(job)); }};
  std::vector<FoundSegment> found;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<DiskDone> ended;
  DiskThreads threads;
};

/// Writes blocks, reads some so that they are moved, until it is killed.
[[noreturn]] void write_for_ever(const std::string& path, uint32_t seed) {
  auto folder = DiskFolder::open(path, DiskFolder::Use::own);
  if (!folder) ::_exit(3);
  RealTier real(std::move(*folder));
  std::mt19937 random(seed);
  std::map<uint64_t, std::vector<std::byte>> busy;
  for (;;) {
    while (real.tier.can_write(now_us())) {
      const auto number = static_cast<uint32_t>(random() % names);
      if (real.tier.contains(disk_name(number))) break;
      auto block = disk_block(number, block_bytes);
      const auto* data = block.data();
      busy[real.tier.write(disk_record(number, block_bytes), data)] = std::move(block);
    }
    std::vector<std::byte> into(block_bytes);
    std::byte* data = into.data();
    const auto id = real.tier.read(disk_name(static_cast<uint32_t>(random() % names)), data);
    if (id) busy[*id] = std::move(into);
    if (busy.empty()) continue;
    for (const DiskOutcome& outcome : real.wait()) busy.erase(outcome.id);
  }
}

/// Reads every block that is said to be there.
size_t check_all(const std::string& path, size_t& refused) {
  auto folder = DiskFolder::open(path, DiskFolder::Use::own);
  REQUIRE(folder);
  RealTier real(std::move(*folder));
  CHECK(real.tier.stats().bytes <= disk_bytes);
  size_t right = 0;
  std::vector<std::byte> block(block_bytes);
  for (uint32_t number = 0; number < names; ++number) {
    if (!real.tier.read(disk_name(number), block.data())) continue;
    const auto outcomes = real.wait();
    REQUIRE(outcomes.size() == 1);
    if (!outcomes[0].status) {
      ++refused;
      continue;
    }
    if (block != disk_block(number, block_bytes)) FAIL("a wrong block " << number);
    ++right;
  }
  return right;
}

size_t bytes_in(const std::string& path) {
  size_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) sum += entry.file_size();
  return sum;
}

}  // namespace

TEST_CASE("disk: killed 250 times while it writes, it never gives a wrong block") {
  // One past the page cache, one (where it is memory) through it: they tear differently.
  TemporaryFolder temporary;
  const MemoryFolder memory;
  const std::string paths[] = {temporary.path("kv"), memory.path("kv")};
  std::mt19937 random(11);
  size_t right = 0, refused = 0;
  for (uint32_t kill = 0; kill < 250; ++kill) {
    const std::string& path = paths[kill / 5 % 2];
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) write_for_ever(path, kill);
    ::usleep(static_cast<useconds_t>(1 + random() % 15'000));
    REQUIRE(::kill(child, SIGKILL) == 0);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    // Not ended by itself: it was writing.
    REQUIRE(WIFSIGNALED(status));
    if (kill % 5 == 4 || kill > 240) {
      right += check_all(path, refused);
      CHECK(bytes_in(path) <= disk_bytes + 64);
    }
  }
  MESSAGE(right << " whole blocks read after kills, " << refused << " torn ones refused");
  // How many it gets to write depends on the machine; some it must have.
  CHECK(right > 50);
}

TEST_CASE("disk: a full disk costs the blocks that do not fit, and is tried again") {
  TemporaryFolder temporary;
  const std::string path = temporary.path("kv");
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // Files of this process end after two records, as on a full disk.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{75'000, 75'000};
    ::setrlimit(RLIMIT_FSIZE, &small);
    auto folder = DiskFolder::open(path, DiskFolder::Use::own);
    if (!folder) ::_exit(3);
    RealTier real(std::move(*folder));
    TimeUs now = 1;
    uint32_t failed = 0;
    for (uint32_t number = 0; number < 6; ++number) {
      if (!real.tier.can_write(now)) ::_exit(4);
      const auto block = disk_block(number, block_bytes);
      real.tier.write(disk_record(number, block_bytes), block.data());
      const auto outcomes = real.wait();
      if (outcomes.size() != 1) ::_exit(5);
      if (outcomes[0].status) continue;
      if (outcomes[0].status.error().code != Code::exhausted) ::_exit(6);
      ++failed;
      if (real.tier.can_write(now_us())) ::_exit(7);
      now = now_us() + 10'000'000;
    }
    // What is there is still read.
    std::vector<std::byte> into(block_bytes);
    if (!real.tier.read(disk_name(0), into.data())) ::_exit(8);
    if (!real.wait().at(0).status || into != disk_block(0, block_bytes)) ::_exit(9);
    ::_exit(failed == 2 && real.tier.stats().failed == 2 ? 0 : 10);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  size_t refused = 0;
  CHECK(check_all(path, refused) == 4);
}
