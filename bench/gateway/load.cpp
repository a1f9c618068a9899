#include "bench/gateway/load.hpp"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "base/concat.hpp"
#include "bench/cpu_time.hpp"
#include "tests/support/loopback.hpp"

namespace troupe::bench {
namespace {

constexpr TimeUs give_up_us = TimeUs{600} * 1'000'000;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

/// One connection and what it waits for.
struct Line {
  int fd = -1;
  size_t request = 0;
  size_t sent = 0;
  std::string head;
  std::string unread;  ///< of a stream: an event that is not whole yet
  size_t body_left = 0;
  bool has_head = false;
  bool is_stream = false;
  bool is_waiting = false;  ///< for the rest of a reply
  bool is_again = false;    ///< the request went out a second time
};

class Load {
 public:
  Load(uint16_t port, const std::vector<std::string>& requests, size_t at_once)
      : port_(port), requests_(requests), lines_(std::min(at_once, requests.size())) {
    result_.replies.resize(requests.size());
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    for (size_t i = 0; i < lines_.size(); ++i) open(i);
  }
  ~Load() {
    for (const Line& line : lines_) ::close(line.fd);
    ::close(epoll_);
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  LoadResult run() {
    const double cpu = thread_cpu_s();
    const TimeUs began = now_us();
    for (Line& line : lines_) begin(line);
    std::array<epoll_event, 256> ready{};
    while (open_ > 0 && now_us() - began < give_up_us) {
      const int n = ::epoll_wait(epoll_, ready.data(), ready.size(), 1000);
      for (int i = 0; i < n; ++i) {
        const epoll_event& event = ready[static_cast<size_t>(i)];
        Line& line = lines_[event.data.u64];
        if ((event.events & EPOLLOUT) != 0) send_more(line);
        if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_more(line);
      }
    }
    result_.seconds = static_cast<double>(now_us() - began) / 1e6;
    result_.cpu_seconds = thread_cpu_s() - cpu;
    return std::move(result_);
  }

 private:
  void open(size_t index) {
    Line& line = lines_[index];
    line.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = testing::loopback(port_);
    if (::connect(line.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      fail("bench_gateway: cannot connect");
    }
    const int on = 1;
    ::setsockopt(line.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event event{EPOLLIN, {}};
    event.data.u64 = index;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, line.fd, &event);
  }

  void watch(const Line& line, bool writes) {
    epoll_event event{writes ? EPOLLIN | EPOLLOUT : EPOLLIN, {}};
    event.data.u64 = static_cast<size_t>(&line - lines_.data());
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, line.fd, &event);
  }

  void begin(Line& line) {
    if (next_ == requests_.size()) return;
    line.request = next_++;
    line.is_waiting = true;
    open_ += 1;
    line.sent = 0;
    line.head.clear();
    line.unread.clear();
    line.has_head = line.is_stream = line.is_again = false;
    result_.replies[line.request].sent_us = now_us();
    send_more(line);
  }

  void send_more(Line& line) {
    const std::string& bytes = requests_[line.request];
    while (line.sent < bytes.size()) {
      const ssize_t n = ::send(line.fd, bytes.data() + line.sent, bytes.size() - line.sent,
                               MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno == EAGAIN) {
        watch(line, true);
        return;
      }
      // A peer that is gone: the next read says so.
      if (n < 0) return;
      line.sent += static_cast<size_t>(n);
      if (line.sent == bytes.size() && bytes.size() > 65536) watch(line, false);
    }
  }

  void read_more(Line& line) {
    std::array<char, 65536> buffer;
    const ssize_t n = ::recv(line.fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      lose(line);
      return;
    }
    std::string_view bytes(buffer.data(), static_cast<size_t>(n));
    if (!line.has_head) {
      line.head += bytes;
      const size_t end = line.head.find("\r\n\r\n");
      if (end == std::string::npos) return;
      const std::string rest = line.head.substr(end + 4);
      line.head.resize(end);
      take_head(line);
      take_body(line, rest);
      return;
    }
    take_body(line, bytes);
  }

  /// The peer has closed the connection. Before it answered anything, as some servers do behind
  /// each stream, the request goes out once more on a new one, like a client's.
  void lose(Line& line) {
    if (!line.is_waiting) {
      ::epoll_ctl(epoll_, EPOLL_CTL_DEL, line.fd, nullptr);
    } else if (!line.head.empty() || std::exchange(line.is_again, true)) {
      end(line, false);
      ::epoll_ctl(epoll_, EPOLL_CTL_DEL, line.fd, nullptr);
    } else {
      ::close(line.fd);
      open(static_cast<size_t>(&line - lines_.data()));
      line.sent = 0;
      send_more(line);
    }
  }

  void take_head(Line& line) {
    line.has_head = true;
    for (char& c : line.head) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const size_t at = line.head.find("content-length: ");
    line.is_stream = at == std::string::npos;
    line.body_left = line.is_stream ? 0 : std::strtoul(line.head.c_str() + at + 16, nullptr, 10);
  }

  void take_body(Line& line, std::string_view bytes) {
    Reply& reply = result_.replies[line.request];
    if (line.is_stream) {
      line.unread += bytes;
      take_events(line, reply);
      // The chunk that ends a stream; a token's text has no such line.
      if (line.unread.ends_with("0\r\n\r\n")) end(line, line.head.starts_with("http/1.1 200"));
      return;
    }
    reply.body += bytes;
    line.body_left -= std::min(line.body_left, bytes.size());
    if (line.body_left > 0) return;
    reply.first_us = reply.last_us = now_us();
    reply.pieces = 1;
    end(line, line.head.starts_with("http/1.1 200"));
  }

  /// Whole events: those with text count.
  static void take_events(Line& line, Reply& reply) {
    const TimeUs now = now_us();
    size_t from = 0;
    for (size_t at; (at = line.unread.find("\n\n", from)) != std::string::npos; from = at + 2) {
      const std::string_view event = std::string_view(line.unread).substr(from, at - from);
      for (const std::string_view mark : {R"("content":")", R"("text":")"}) {
        const size_t text = event.find(mark);
        if (text == std::string::npos || event[text + mark.size()] == '"') continue;
        if (reply.pieces++ == 0) reply.first_us = now;
        reply.last_us = now;
      }
    }
    line.unread.erase(0, from);
  }

  void end(Line& line, bool ok) {
    result_.replies[line.request].ok = ok;
    open_ -= 1;
    line.is_waiting = false;
    if (ok) begin(line);
  }

  const uint16_t port_;
  const std::vector<std::string>& requests_;
  std::vector<Line> lines_;
  LoadResult result_;
  int epoll_ = -1;
  size_t next_ = 0, open_ = 0;
};

}  // namespace

double bare_send_us(size_t bytes) {
  constexpr int times = 4000;
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* where = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, where, length) != 0 || ::listen(listener, 1) != 0 ||
      ::getsockname(listener, where, &length) != 0) {
    fail("bench_gateway: cannot listen");
  }
  const int from = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(from, where, length) != 0) fail("bench_gateway: cannot connect");
  const int to = ::accept(listener, nullptr, nullptr);
  const int on = 1;
  ::setsockopt(from, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const std::string piece(bytes, 'x');
  std::array<char, 65536> sink;
  double cpu = 0;
  for (int i = 0; i < times; ++i) {
    const double before = thread_cpu_s();
    ::send(from, piece.data(), piece.size(), MSG_NOSIGNAL);
    cpu += thread_cpu_s() - before;
    while (::recv(to, sink.data(), sink.size(), MSG_DONTWAIT) > 0) {
    }
  }
  for (const int fd : {listener, from, to}) ::close(fd);
  return cpu * 1e6 / times;
}

std::string post_bytes(const std::string& path, const std::string& body) {
  return concat("POST ", path, " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n",
                "Content-Length: ", body.size(), "\r\n\r\n", body);
}

uint64_t LoadResult::pieces() const {
  uint64_t sum = 0;
  for (const Reply& reply : replies) sum += reply.pieces;
  return sum;
}

bool LoadResult::all_ok() const {
  return std::ranges::all_of(replies, [](const Reply& reply) { return reply.ok; });
}

LoadResult run_load(uint16_t port, const std::vector<std::string>& requests, size_t at_once) {
  return Load(port, requests, at_once).run();
}

}  // namespace troupe::bench
