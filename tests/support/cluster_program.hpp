// Runs a program as a user would: its own environment, output in files, signals.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace troupe::testing {

/// Waits until `is_true`, looking every 20 ms; false after `timeout_ms`.
inline bool eventually(const std::function<bool()>& is_true, int64_t timeout_ms) {
  const int64_t deadline_us = now_us() + timeout_ms * 1000;
  while (!is_true()) {
    if (now_us() > deadline_us) return false;
    ::poll(nullptr, 0, 20);
  }
  return true;
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What a program left: exit_code -1 when a signal or the time-out ended it.
struct Finished {
  int exit_code = -1;
  int signal = 0;
  bool timed_out = false;
  std::string out;
  std::string err;
};

/// A running program; killed by the destructor.
class Program {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  /// Output goes to files `out` and `out`.err; standard input is the file `input`.
  Program(const std::vector<std::string>& words, const Environment& environment,
          const std::filesystem::path& out, const std::filesystem::path& input = "/dev/null")
      : out_(out), err_(out.string() + ".err") {
    // All memory is made before the fork: other threads may hold the allocator's locks.
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    std::vector<std::string> settings;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string old = *entry;
      const std::string name = old.substr(0, old.find('='));
      bool replaced = false;
      for (const auto& added : environment) replaced |= added.first == name;
      if (!replaced) settings.push_back(old);
    }
    for (const auto& [name, value] : environment) settings.push_back(name + "=" + value);
    std::vector<char*> variables;
    for (std::string& text : settings) variables.push_back(text.data());
    variables.push_back(nullptr);
    const int in = ::open(input.c_str(), O_RDONLY | O_CLOEXEC);
    const int to = ::open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const int err = ::open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::signal(SIGHUP, SIG_DFL);  // the tests themselves may run under nohup
      ::dup2(in, STDIN_FILENO);
      ::dup2(to, STDOUT_FILENO);
      ::dup2(err, STDERR_FILENO);
      ::execve(arguments[0], arguments.data(), variables.data());
      ::_exit(127);
    }
    ::close(in);
    ::close(to);
    ::close(err);
  }
  ~Program() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void send(int signal) const {
    if (pid_ > 0) ::kill(pid_, signal);
  }
  [[nodiscard]] std::string out() const { return read_text(out_); }
  [[nodiscard]] std::string err() const { return read_text(err_); }

  /// Waits for the end; kills it after `timeout_ms`.
  Finished wait(int64_t timeout_ms) {
    Finished finished;
    int status = 0;
    const auto is_over = [&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; };
    if (!eventually(is_over, timeout_ms)) {
      finished.timed_out = true;
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, &status, 0);
    }
    pid_ = 0;
    if (WIFEXITED(status) && !finished.timed_out) finished.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) finished.signal = WTERMSIG(status);
    finished.out = out();
    finished.err = err();
    return finished;
  }

 private:
  std::filesystem::path out_;
  std::filesystem::path err_;
  pid_t pid_ = 0;
};

}  // namespace troupe::testing
