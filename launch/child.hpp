// Starting one process of the cluster and hearing from it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "launch/files.hpp"

namespace troupe::launch {

struct ChildOptions {
  std::vector<std::string> command;                              ///< program and arguments
  std::vector<std::pair<std::string, std::string>> environment;  ///< on top of our own
  std::filesystem::path log_file;  ///< appended to: standard output and error
};

struct Child {
  pid_t pid = 0;
  Descriptor ready_pipe;  ///< non-blocking; the child writes "ready <port>\n"
};

/// Forks and executes. The child leads a process group of its own and is killed when the caller's
/// process dies. The write end of its ready pipe is descriptor 3, named in TROUPE_READY_FD. A
/// program that cannot be executed ends with 127 and a line in its log.
Result<Child> start_child(const ChildOptions& options);

/// "exit status 1", "signal 9 (Killed)": a wait status for people.
std::string describe_exit(int wait_status);

/// Collects "ready <port>\n" from its pieces.
class ReadyLine {
 public:
  enum class State { incomplete, ready, wrong };
  State add(std::string_view bytes);
  [[nodiscard]] uint16_t port() const { return port_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  uint16_t port_ = 0;
};

}  // namespace troupe::launch
