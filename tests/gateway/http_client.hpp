// A client of one connection that says exactly the bytes that a test wants, and waits with bounds.
#pragma once

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "base/clock.hpp"

namespace troupe::testing {

class RawClient {
 public:
  explicit RawClient(uint16_t port, const std::string& host = "127.0.0.1")
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
    REQUIRE(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  RawClient(RawClient&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), text_(std::move(other.text_)) {}
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() { close(); }

  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  /// With a reset instead of a goodbye.
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }
  [[nodiscard]] int fd() const { return fd_; }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }

  /// Reads until `mark` has come (true), or the end or the time (false).
  bool read_until(std::string_view mark, int timeout_ms = 5'000) {
    const TimeUs until = now_us() + TimeUs{1'000} * timeout_ms;
    while (text_.find(mark) == std::string::npos) {
      if (!read_more(until)) return false;
    }
    return true;
  }
  /// Reads until `mark` has come behind `from`, which moves past it.
  bool read_past(std::string_view mark, size_t& from, int timeout_ms = 5'000) {
    const TimeUs until = now_us() + TimeUs{1'000} * timeout_ms;
    size_t at = 0;
    while ((at = text_.find(mark, from)) == std::string::npos) {
      if (!read_more(until)) return false;
    }
    from = at + mark.size();
    return true;
  }
  /// Reads until the peer closes; false when it does not in time.
  bool read_to_end(int timeout_ms = 5'000) {
    const TimeUs until = now_us() + TimeUs{1'000} * timeout_ms;
    while (read_more(until)) {
    }
    return is_closed_;
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  /// One whole reply with a content-length, taken out of what came.
  std::string take_reply(int timeout_ms = 5'000) {
    if (!read_until("\r\n\r\n", timeout_ms)) return {};
    const size_t head = text_.find("\r\n\r\n") + 4;
    const size_t at = text_.find("content-length: ");
    const size_t body =
        at < head ? static_cast<size_t>(std::atoi(text_.c_str() + at + 16)) : size_t{0};
    const TimeUs until = now_us() + TimeUs{1'000} * timeout_ms;
    while (text_.size() < head + body && read_more(until)) {
    }
    const std::string reply = text_.substr(0, head + body);
    text_.erase(0, head + body);
    return reply;
  }

 private:
  bool read_more(TimeUs until) {
    pollfd entry{fd_, POLLIN, 0};
    const TimeUs left = until - now_us();
    if (left <= 0 || ::poll(&entry, 1, static_cast<int>(left / 1000) + 1) <= 0) return false;
    char buffer[16384];
    const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
    if (n <= 0) {
      is_closed_ = true;
      return false;
    }
    text_.append(buffer, static_cast<size_t>(n));
    return true;
  }

  int fd_;
  std::string text_;
  bool is_closed_ = false;
};

/// The bytes of a request with a JSON body, after whose reply the server closes the connection.
inline std::string http_request(const std::string& method, const std::string& path,
                                const std::string& body = {}) {
  return method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
         "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

/// A connection over which such a request was sent.
inline RawClient ask(uint16_t port, const std::string& method, const std::string& path,
                     const std::string& body = {}) {
  RawClient client(port);
  client.send(http_request(method, path, body));
  return client;
}

/// The whole reply.
inline std::string asked(uint16_t port, const std::string& method, const std::string& path,
                         const std::string& body = {}, int timeout_ms = 60'000) {
  RawClient client = ask(port, method, path, body);
  CHECK(client.read_to_end(timeout_ms));
  return client.text();
}

inline bool is_status(const std::string& reply, int status) {
  return reply.starts_with("HTTP/1.1 " + std::to_string(status));
}

/// Whether a token could be produced now.
inline bool is_ready(uint16_t port) {
  RawClient client = ask(port, "GET", "/health/ready");
  client.read_to_end(5'000);
  return is_status(client.text(), 200);
}

}  // namespace troupe::testing
