#include "tests/transport/peer_process.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <iterator>
#include <random>

#include "base/crc32c.hpp"
#include "transport/environment.hpp"

/// UCX 1.13 loses about 100 bytes whenever the shared memory of a process that is gone cannot be
/// opened; its libraries have no symbols that would say so more narrowly.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libuct.so\n";
}

namespace troupe::transport::testing {
namespace {

/// Some variables have to be there when the UCX library is loaded: run this binary again with them.
const bool environment_is_set = [] {
  if (missing_environment().empty()) return true;
  for (const auto& [name, value] : required_environment()) setenv(name.c_str(), value.c_str(), 1);
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> words;
  for (size_t at = 0; at < line.size(); at += words.back().size() + 1) {
    words.emplace_back(line.c_str() + at);
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  std::abort();
}();

void send_all(int fd, const void* bytes, size_t size) {
  auto* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
    if (sent <= 0) return;
    at += sent;
    size -= static_cast<size_t>(sent);
  }
}

bool receive_all(int fd, void* bytes, size_t size) {
  return size == 0 || recv(fd, bytes, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

std::string setting_of(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

void send_blob(int fd, const std::string& blob) {
  const uint64_t size = blob.size();
  send_all(fd, &size, sizeof size);
  send_all(fd, blob.data(), blob.size());
}

std::string receive_blob(int fd) {
  uint64_t size = 0;
  if (!receive_all(fd, &size, sizeof size) || size > (1 << 20)) return {};
  std::string blob(size, '\0');
  return receive_all(fd, blob.data(), size) ? blob : std::string{};
}

void run_source(int fd, size_t block_bytes, uint32_t num_pages) {
  LocalEnd end = local_end(block_bytes, num_pages);
  for (uint32_t i = 0; i < num_pages; ++i) {
    const auto bytes = page_bytes(i, block_bytes);
    std::memcpy(end.region.data + i * block_bytes, bytes.data(), block_bytes);
    if (i + 1 < num_pages) end.transport->grant(granted_token, i);  // the last one stays private
  }
  send_blob(fd, end.transport->address());
  char what = 0;
  while (receive_all(fd, &what, 1) && what != 'q') {
    if (what == 'b') end.region.data[block_bytes / 2] ^= std::byte{1};
    if (what == 'r') end.transport->revoke(granted_token);
    send_all(fd, &what, 1);
  }
}

void run_reader(int fd, size_t block_bytes, uint32_t num_pages) {
  const LocalEnd end = local_end(block_bytes, num_pages);
  const auto peer = end.transport->connect(receive_blob(fd));
  REQUIRE(peer.ok());
  for (uint32_t i = 0; i + 1 < num_pages; ++i) {
    const auto done = end.read(*peer, {granted_token, i, i, page_checksum(i, block_bytes)});
    CHECK(done.ok());
  }
  send_blob(fd, std::string(end.transport->path(*peer)));
  char what = 0;
  receive_all(fd, &what, 1);
}

}  // namespace

TEST_CASE("peer process" * doctest::skip()) {
  const int fd = std::atoi(setting_of("TROUPE_TEST_PEER").c_str());
  REQUIRE(fd > 2);
  const size_t block_bytes = std::stoul(setting_of("TROUPE_TEST_BLOCK"));
  const auto num_pages = static_cast<uint32_t>(std::stoul(setting_of("TROUPE_TEST_PAGES")));
  const bool source = setting_of("TROUPE_TEST_ROLE") == "source";
  (source ? run_source : run_reader)(fd, block_bytes, num_pages);
}

std::vector<std::byte> page_bytes(uint32_t page, size_t block_bytes) {
  std::mt19937_64 random(page + 1);
  std::vector<std::byte> bytes(block_bytes);
  for (size_t at = 0; at + 8 <= block_bytes; at += 8) {
    const uint64_t value = random();
    std::memcpy(bytes.data() + at, &value, 8);
  }
  return bytes;
}

uint32_t page_checksum(uint32_t page, size_t block_bytes) {
  return crc32c(page_bytes(page, block_bytes));
}

PeerProcess::PeerProcess(const PeerOptions& options) {
  int pair[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  output_ = memfd_create("peer output", MFD_CLOEXEC);
  fcntl(pair[0], F_SETFD, FD_CLOEXEC);
  const std::string fd = std::to_string(pair[1]);
  const std::string block = std::to_string(options.block_bytes);
  const std::string pages = std::to_string(options.num_pages);
  pid_ = fork();
  REQUIRE(pid_ >= 0);
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(output_, 1);
    dup2(output_, 2);
    setenv("TROUPE_TEST_PEER", fd.c_str(), 1);
    setenv("TROUPE_TEST_ROLE", options.role.c_str(), 1);
    setenv("TROUPE_TEST_BLOCK", block.c_str(), 1);
    setenv("TROUPE_TEST_PAGES", pages.c_str(), 1);
    if (options.tcp_only) setenv("UCX_TLS", "tcp", 1);
    execl("/proc/self/exe", "peer", "--test-case=peer process", "--no-skip",
          static_cast<char*>(nullptr));
    _exit(127);
  }
  close(pair[1]);
  channel_ = pair[0];
  if (options.role == "reader") send_blob(channel_, options.address);
  address_ = receive_blob(channel_);
  if (address_.empty()) FAIL("the peer process did not start: ", output());
}

PeerProcess::~PeerProcess() {
  kill();
  close(channel_);
  close(output_);
}

void PeerProcess::signal(int number) const {
  ::kill(pid_, number);
}

void PeerProcess::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

int PeerProcess::quit() {
  send_all(channel_, "q", 1);
  int status = -1;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

std::string PeerProcess::output() const {
  std::string text(1 << 16, '\0');
  const ssize_t size = pread(output_, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

void PeerProcess::command(char what) const {
  send_all(channel_, &what, 1);
  char answer = 0;
  REQUIRE(receive_all(channel_, &answer, 1));
  REQUIRE(answer == what);
}

Result<ReadDone> LocalEnd::read(PeerId peer, const ReadRequest& request) const {
  std::promise<Result<ReadDone>> done;
  transport->read(peer, request,
                  [&](Result<ReadDone> result) { done.set_value(std::move(result)); });
  return done.get_future().get();
}

LocalEnd local_end(size_t block_bytes, uint32_t num_pages, TransportOptions options) {
  if (options.key.empty()) options.key = cluster_key;
  auto transport = Transport::start(std::move(options));
  if (!transport) FAIL(transport.error().message());
  auto region = (*transport)->allocate(block_bytes * num_pages);
  if (!region) FAIL(region.error().message());
  LocalEnd end{std::move(transport).value(), std::move(region).value(), block_bytes};
  const Status served = end.transport->serve_pool(end.region, block_bytes, num_pages);
  if (!served) FAIL(served.error().message());
  return end;
}

}  // namespace troupe::transport::testing
