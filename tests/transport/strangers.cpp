// Whoever reaches the TCP port of the data network without belonging there: silence, garbage, sizes
// beyond all bounds.
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/concat.hpp"
#include "tests/support/loopback.hpp"
#include "tests/transport/peer_process.hpp"

using namespace troupe;
using namespace troupe::transport;
using namespace troupe::transport::testing;

namespace {

/// The sockets of a process, as /proc names them.
std::set<std::string> sockets_of(pid_t pid) {
  std::set<std::string> found;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(concat("/proc/", pid, "/fd"), ignored)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored).string();
    if (target.starts_with("socket:[")) found.insert(target.substr(8, target.size() - 9));
  }
  return found;
}

/// The one port at which a process listens; 0: none.
uint16_t listening_port(pid_t pid) {
  const std::set<std::string> own = sockets_of(pid);
  std::ifstream table(concat("/proc/", pid, "/net/tcp"));
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string number, local, remote, state, skip, inode;
    fields >> number >> local >> remote >> state;
    for (int i = 0; i < 5; ++i) fields >> skip;
    fields >> inode;
    if (state != "0A" || !own.contains(inode)) continue;
    return static_cast<uint16_t>(std::stoul(local.substr(local.find(':') + 1), nullptr, 16));
  }
  return 0;
}

size_t resident_kib(pid_t pid) {
  std::ifstream status(concat("/proc/", pid, "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
  }
  return 0;
}

class Connection {
 public:
  explicit Connection(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = troupe::testing::loopback(port);
    REQUIRE(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  Connection(Connection&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Connection& operator=(Connection&&) = delete;
  ~Connection() {
    if (fd_ >= 0) ::close(fd_);
  }
  /// As much as the other end takes.
  void say(const std::string& words) const {
    for (size_t at = 0; at < words.size();) {
      pollfd ready{fd_, POLLOUT, 0};
      if (::poll(&ready, 1, 300) != 1) return;
      const ssize_t n =
          ::send(fd_, words.data() + at, words.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n <= 0) return;
      at += static_cast<size_t>(n);
    }
  }

 private:
  int fd_;
};

constexpr size_t block = 1 << 20;

bool can_be_read(const PeerProcess& source) {
  const LocalEnd end = local_end(block, 8);
  const auto peer = end.transport->connect(source.address(), PathPreference::tcp);
  return peer && end.read(*peer, {granted_token, 0, 0, page_checksum(0, block)}).ok();
}

PeerProcess tcp_source() {
  PeerOptions options;
  options.tcp_only = true;
  return PeerProcess(options);
}

}  // namespace

TEST_CASE("silence, garbage and announced sizes at the data port cost next to nothing") {
  const PeerProcess source = tcp_source();
  const uint16_t port = listening_port(source.pid());
  REQUIRE(port != 0);
  REQUIRE(can_be_read(source));
  const size_t before_kib = resident_kib(source.pid());
  const size_t before_sockets = sockets_of(source.pid()).size();
  std::mt19937 random(3);
  {
    std::vector<Connection> strangers;
    for (int i = 0; i < 200; ++i) {
      strangers.emplace_back(port);
      std::string words;
      if (i % 4 == 1) words = "GET / HTTP/1.1\r\n\r\n";
      if (i % 4 == 2) words.assign(64, '\xff');  // the largest of every size
      if (i % 4 == 3) {
        words.resize(1 + random() % 100'000);
        for (char& c : words) c = static_cast<char>(random());
      }
      strangers.back().say(words);
    }
    CHECK(can_be_read(source));
    CHECK(resident_kib(source.pid()) < before_kib + 32 * 1024);
  }
  CHECK(can_be_read(source));
  const TimeUs latest = now_us() + 10'000'000;
  while (sockets_of(source.pid()).size() > before_sockets + 8 && now_us() < latest) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  CHECK(sockets_of(source.pid()).size() <= before_sockets + 8);
}
