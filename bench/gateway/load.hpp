// A load of HTTP requests from one thread: so many at once, each on a connection of its own that is
// kept for the next one. Says when each reply's tokens came.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace troupe::bench {

/// One request as bytes, with its head.
std::string post_bytes(const std::string& path, const std::string& body);

struct Reply {
  TimeUs sent_us = 0, first_us = 0, last_us = 0;
  uint64_t pieces = 0;  ///< of text; about a token each
  bool ok = false;      ///< status 200, and whole
  std::string body;     ///< as it came, when it is no stream

  [[nodiscard]] double ttft_ms() const { return static_cast<double>(first_us - sent_us) / 1e3; }
  /// Mean over the reply; 0 for one token.
  [[nodiscard]] double itl_ms() const {
    return pieces < 2
               ? 0
               : static_cast<double>(last_us - first_us) / 1e3 / static_cast<double>(pieces - 1);
  }
};

struct LoadResult {
  std::vector<Reply> replies;  ///< in the order of the requests
  double seconds = 0;
  double cpu_seconds = 0;  ///< of the thread that made the load

  [[nodiscard]] uint64_t pieces() const;
  [[nodiscard]] bool all_ok() const;
};

/// Sends `requests` to loopback, `at_once` of them at a time. The thread ends what takes longer
/// than ten minutes.
LoadResult run_load(uint16_t port, const std::vector<std::string>& requests, size_t at_once);

/// What the system alone takes to send `bytes` over loopback, in microseconds of CPU.
double bare_send_us(size_t bytes);

}  // namespace troupe::bench
