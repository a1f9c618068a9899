#include "launch/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/concat.hpp"
#include "launch/limits.hpp"

namespace troupe::launch {
namespace {

constexpr int ready_fd = 3;

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void fail_in_child(const char* what) {
  ::dprintf(STDERR_FILENO, "troupe: %s: %s\n", what, std::strerror(errno));
  ::_exit(127);
}

// The supervisor has one thread, so anything may be called between fork and exec.
[[noreturn]] void run_in_child(const ChildOptions& options, pid_t parent, int log, int pipe_write) {
  // Before anything else: a supervisor that is killed takes its processes along.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  ::setpgid(0, 0);
  reset_signals();
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (::dup2(null, STDIN_FILENO) < 0 || ::dup2(log, STDOUT_FILENO) < 0 ||
      ::dup2(log, STDERR_FILENO) < 0) {
    ::_exit(127);
  }
  if (pipe_write == ready_fd) {
    ::fcntl(ready_fd, F_SETFD, 0);
  } else if (::dup2(pipe_write, ready_fd) < 0) {
    fail_in_child("cannot hand over the ready pipe");
  }
  for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::setenv("TROUPE_READY_FD", std::to_string(ready_fd).c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : options.command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  fail_in_child(arguments[0]);
}

}  // namespace

Result<Child> start_child(const ChildOptions& options) {
  if (options.command.empty()) return error(Code::invalid_argument, "no command to start");
  const Descriptor log(::open(options.log_file.c_str(),
                              O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!log) return system_error("cannot open " + options.log_file.string());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe");
  Child child{.pid = 0, .ready_pipe = Descriptor(ends[0])};
  const Descriptor write_end(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  const pid_t parent = ::getpid();
  child.pid = ::fork();
  if (child.pid < 0) return system_error("cannot start a process");
  if (child.pid == 0) run_in_child(options, parent, log.get(), write_end.get());
  // Both sides set it: whoever comes first, the group exists when the other goes on.
  ::setpgid(child.pid, child.pid);
  return child;
}

std::string describe_exit(int wait_status) {
  if (WIFEXITED(wait_status)) return concat("exit status ", WEXITSTATUS(wait_status));
  if (WIFSIGNALED(wait_status)) {
    const int number = WTERMSIG(wait_status);
    return concat("signal ", number, " (", ::strsignal(number), ")");
  }
  return concat("wait status ", wait_status);
}

ReadyLine::State ReadyLine::add(std::string_view bytes) {
  text_.append(bytes.substr(0, limits::ready_line));
  const size_t end = text_.find('\n');
  if (end == std::string::npos) {
    return text_.size() >= limits::ready_line ? State::wrong : State::incomplete;
  }
  constexpr std::string_view word = "ready ";
  const std::string_view line = std::string_view(text_).substr(0, end);
  if (!line.starts_with(word)) return State::wrong;
  const char* last = line.data() + line.size();
  const auto [stop, code] = std::from_chars(line.data() + word.size(), last, port_);
  return code == std::errc() && stop == last ? State::ready : State::wrong;
}

}  // namespace troupe::launch
