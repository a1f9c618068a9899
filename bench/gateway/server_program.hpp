// A server in a process of its own, from its start until it answers, and its end with this one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::bench {

/// A port of loopback that nobody uses now.
uint16_t free_port();

class ServerProgram {
 public:
  /// Starts `words` (a path and its arguments; output goes to `log`) and waits until GET `ready` on
  /// `port` is answered with 200. Ends this program when it never is.
  ServerProgram(const std::vector<std::string>& words, uint16_t port, const std::string& ready,
                const std::string& log);
  /// With SIGTERM, and with SIGKILL what has not ended 20 seconds later.
  ~ServerProgram();
  ServerProgram(const ServerProgram&) = delete;
  ServerProgram& operator=(const ServerProgram&) = delete;

  [[nodiscard]] uint16_t port() const { return port_; }

 private:
  [[nodiscard]] bool has_ended();

  uint16_t port_;
  pid_t pid_ = 0;
};

}  // namespace troupe::bench
