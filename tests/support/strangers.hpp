// Who reaches a port without belonging there, and what that costs the process behind it.
#pragma once

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/concat.hpp"
#include "tests/support/loopback.hpp"

namespace troupe::testing {

/// The sockets of a process, as /proc names them.
inline std::set<std::string> sockets_of(pid_t pid) {
  std::set<std::string> found;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(concat("/proc/", pid, "/fd"), ignored)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored).string();
    if (target.starts_with("socket:[")) found.insert(target.substr(8, target.size() - 9));
  }
  return found;
}

/// The IPv4 ports at which a process listens.
inline std::vector<uint16_t> listening_ports(pid_t pid) {
  std::vector<uint16_t> ports;
  const std::set<std::string> own = sockets_of(pid);
  std::ifstream table(concat("/proc/", pid, "/net/tcp"));
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string number, local, remote, state, skip, inode;
    fields >> number >> local >> remote >> state;
    for (int i = 0; i < 5; ++i) fields >> skip;
    fields >> inode;
    if (state != "0A" || !own.contains(inode)) continue;
    ports.push_back(
        static_cast<uint16_t>(std::stoul(local.substr(local.find(':') + 1), nullptr, 16)));
  }
  return ports;
}

inline size_t resident_kib(pid_t pid) {
  std::ifstream status(concat("/proc/", pid, "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
  }
  return 0;
}

class Stranger {
 public:
  explicit Stranger(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = loopback(port);
    REQUIRE(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  Stranger(Stranger&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Stranger& operator=(Stranger&&) = delete;
  ~Stranger() {
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
  /// What the other end says until it closes the connection; ends with "..." if it does not.
  [[nodiscard]] std::string hear(int timeout_ms) const {
    std::string heard;
    for (;;) {
      pollfd ready{fd_, POLLIN, 0};
      if (::poll(&ready, 1, timeout_ms) != 1) return heard + "...";
      char bytes[4096];
      const ssize_t n = ::recv(fd_, bytes, sizeof bytes, 0);
      if (n <= 0) return heard;
      heard.append(bytes, static_cast<size_t>(n));
    }
  }

 private:
  int fd_;
};

}  // namespace troupe::testing
