// TCP on this machine, for tests and benchmarks that speak to a port without a client of ours.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

namespace troupe::testing {

/// 127.0.0.1 and a port; 0 is a free one, for bind().
inline sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// A port that nobody listened on a moment ago; 0: there is none.
inline uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t bytes = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  const bool is_bound = ::bind(fd, raw, bytes) == 0 && ::getsockname(fd, raw, &bytes) == 0;
  ::close(fd);
  return is_bound ? ntohs(address.sin_port) : uint16_t{0};
}

}  // namespace troupe::testing
