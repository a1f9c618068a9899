// The HTTP server: listens, reads requests within bounds, hands them on, writes what comes back. No
// Boost in this header.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "gateway/http.hpp"
#include "gateway/limits.hpp"

namespace troupe::gateway {

struct ServerOptions {
  std::string address = "127.0.0.1";  ///< an IP address
  uint16_t port = 0;                  ///< 0: a free one
  std::string certificate_file;       ///< PEM, with its chain; with key_file: TLS
  std::string key_file;
  uint64_t body_bytes_max = limits::body_bytes_max;
  size_t connections_max = limits::connections_max;
  size_t connections_per_address_max = limits::connections_per_address_max;
  int idle_s = limits::idle_s;
  int header_s = limits::header_s;
  int body_silence_s = limits::body_silence_s;
  int body_s = limits::body_s;
  int write_silence_s = limits::write_silence_s;
};

struct ServerCounts {
  uint64_t connections = 0;  ///< open now
  uint64_t accepted = 0;
  uint64_t turned_away = 0;  ///< beyond a limit
  uint64_t cut_off = 0;      ///< too slow, or too much unsent
  uint64_t exchanges = 0;    ///< requests under way
  uint64_t sends = 0;        ///< to sockets
};

/// What a server asks of whoever answers.
struct ServerHandler {
  /// Looks at a request's head (no body yet): a reply refuses it before its body is read.
  std::function<bool(HttpRequest&, HttpReply&)> refuse_head;
  /// Answers a whole request, now or later. On the server's thread: must not block.
  std::function<void(HttpRequest, std::shared_ptr<Exchange>)> handle;
  /// The body of an error that the server itself finds (413, 408, ...).
  std::function<HttpReply(const HttpRequest&, int status, const std::string& what)> refusal;
};

class HttpServer {
 public:
  /// Listens and serves on a thread of its own. Errors: unavailable (address, port), what a
  /// certificate is refused for.
  static Result<std::unique_ptr<HttpServer>> start(const ServerOptions& options,
                                                   ServerHandler handler);
  /// Closes everything.
  ~HttpServer();

  [[nodiscard]] uint16_t port() const;
  [[nodiscard]] ServerCounts counts() const;
  /// From now on connections are closed after their next reply.
  void end_keep_alive();
  /// Runs on the server's thread, after `ms`.
  void later(int ms, std::function<void()> run);

 private:
  HttpServer();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troupe::gateway
