#include "actors/tls_guard.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <mutex>
#include <thread>

#include "actors/handshakes.hpp"
#include "actors/limits.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"

namespace troupe::actors {
namespace {

struct Guard {
  std::mutex mutex;
  Handshakes handshakes{limits::handshakes_max, limits::handshake_us};
  std::map<int, uint16_t> listeners;  ///< descriptor -> port
};

/// Never destroyed: threads of CAF may be in accept() when the process ends.
Guard& guard() {
  static Guard* const only = new Guard;
  return *only;
}

/// Cuts off handshakes that take too long, and tells the log.
void keep_watch() {
  Guard& own = guard();
  for (;;) {
    ::poll(nullptr, 0, 250);
    std::optional<std::string> line;
    {
      const std::lock_guard lock(own.mutex);
      // CAF sees the end of the connection and frees it, which brings end().
      for (const int fd : own.handshakes.take_late(now_us())) ::shutdown(fd, SHUT_RDWR);
      line = own.handshakes.report(now_us());
    }
    if (line) log_warning("node", *line);
  }
}

bool listens_at(int fd, uint16_t port) {
  int listens = 0;
  socklen_t size = sizeof listens;
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) {
    return false;
  }
  sockaddr_storage address{};
  size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port) == port;
  }
  return address.ss_family == AF_INET6 &&
         ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port) == port;
}

using Accept = int (*)(int, sockaddr*, socklen_t*);

Accept real_accept() {
  static const auto next = reinterpret_cast<Accept>(::dlsym(RTLD_NEXT, "accept"));
  return next;
}

bool is_guarded(int listener) {
  uint16_t port = 0;
  {
    Guard& own = guard();
    const std::lock_guard lock(own.mutex);
    const auto found = own.listeners.find(listener);
    if (found == own.listeners.end()) return false;
    port = found->second;
  }
  // CAF may have closed it since, and its number be used by another socket.
  return listens_at(listener, port);
}

/// Whether the connection may go on to CAF.
bool is_admitted(int connection) {
  std::array<uint8_t, 3> first{};
  const ssize_t bytes = ::recv(connection, first.data(), first.size(), MSG_PEEK | MSG_DONTWAIT);
  const auto count = static_cast<size_t>(bytes < 0 ? 0 : bytes);
  Guard& own = guard();
  const std::lock_guard lock(own.mutex);
  return own.handshakes.admit({first.data(), count}) == Admission::take;
}

int accept_guarded(int listener, sockaddr* address, socklen_t* size) {
  // As many as wait: CAF asks once per event.
  for (int turned_away = 0; turned_away < limits::accepts_per_turn; ++turned_away) {
    const int connection = real_accept()(listener, address, size);
    if (connection < 0 || is_admitted(connection)) return connection;
    ::close(connection);
  }
  errno = EAGAIN;
  return -1;
}

}  // namespace

Status guard_control_port(uint16_t port) {
  if (real_accept() == nullptr ||
      ::dlsym(RTLD_DEFAULT, "accept") != reinterpret_cast<const void*>(&::accept)) {
    return error(Code::internal, "this build does not guard its control port",
                 "link troupe_actors into the program, not into a library");
  }
  rlimit most{};
  ::getrlimit(RLIMIT_NOFILE, &most);
  const int end = static_cast<int>(std::min<rlim_t>(most.rlim_cur, 1u << 20));
  for (int fd = 0; fd < end; ++fd) {
    if (!listens_at(fd, port)) continue;
    // The system tells of a connection when its first bytes have come, or after this time.
    const int seconds = limits::first_bytes_s;
    ::setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds);
    static std::once_flag once;
    std::call_once(once, [] { std::thread(keep_watch).detach(); });
    const std::lock_guard lock(guard().mutex);
    guard().listeners[fd] = port;
    return {};
  }
  return error(Code::not_found, concat("no socket of this process listens at port ", port));
}

void before_accept(SSL* ssl) {
  Guard& own = guard();
  const std::lock_guard lock(own.mutex);
  if (own.listeners.empty() || own.handshakes.knows(ssl)) return;
  // Our own descriptor of the socket: CAF may close its one, and its number be used again.
  own.handshakes.begin(ssl, ::fcntl(SSL_get_fd(ssl), F_DUPFD_CLOEXEC, 0), now_us());
}

void after_accept(SSL* ssl, int result) {
  if (result != 1) return;
  Guard& own = guard();
  const std::lock_guard lock(own.mutex);
  if (const int fd = own.handshakes.end(ssl); fd >= 0) ::close(fd);
}

}  // namespace troupe::actors

// libcaf_io and libcaf_openssl find these before libc's and libssl's.
extern "C" {

int accept(int listener, sockaddr* address, socklen_t* size) {
  using namespace troupe::actors;
  return is_guarded(listener) ? accept_guarded(listener, address, size)
                              : real_accept()(listener, address, size);
}

void SSL_free(SSL* ssl) {
  static const auto real = reinterpret_cast<void (*)(SSL*)>(::dlsym(RTLD_NEXT, "SSL_free"));
  troupe::actors::after_accept(ssl, 1);
  real(ssl);
}

}  // extern "C"
