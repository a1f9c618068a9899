#include "launch/supervisor.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "launch/child.hpp"
#include "launch/limits.hpp"
#include "launch/node.hpp"
#include "launch/ward.hpp"

namespace troupe::launch {
namespace {

int64_t now_ms() {
  return now_us() / 1000;
}

class Supervisor {
 public:
  explicit Supervisor(SupervisorOptions options);
  int run();

 private:
  struct Held {
    Ward ward;
    Descriptor pipe;
    ReadyLine line;
  };

  void tell(const std::string& line);
  void publish();
  void start(Held& held);
  void start_waiting();
  void read_pipe(Held& held);
  void on_ready(Held& held);
  void on_death(Held& held, int wait_status);
  void reap();
  void take_signals();
  void on_deadline(Held& held);
  void check_deadlines();
  void fail_start(const Held& held);
  void stop(const std::string& why);
  void stop_directory();
  void wait_for_events();
  [[nodiscard]] int timeout_ms() const;
  [[nodiscard]] bool all_are(Health health) const;

  SupervisorOptions options_;
  std::vector<Held> held_;
  Descriptor signals_;
  bool is_stopping_ = false;
  bool is_directory_told_ = false;
  bool is_changed_ = true;
  int64_t kill_at_ms_ = -1;
  int exit_status_ = 0;
};

Supervisor::Supervisor(SupervisorOptions options) : options_(std::move(options)) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&wanted, number);
  ::sigprocmask(SIG_SETMASK, &wanted, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  // Whoever started us may have ignored its children, and that is inherited: then nothing is
  // reaped.
  ::signal(SIGCHLD, SIG_DFL);
  signals_ = Descriptor(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (const auto self = process_id(::getpid())) options_.state.supervisor = *self;
  for (const PlannedProcess& process : options_.plan.processes) {
    if (!process.is_here) continue;
    held_.push_back(
        {Ward(process, options_.run_directory.log_file(process.name).string()), {}, {}});
  }
}

void Supervisor::tell(const std::string& line) {
  log_info("supervisor", line);
  if (!options_.report) return;
  const std::string text = line + "\n";
  // A reader that went away shows in poll(); a full pipe cannot happen with so few lines.
  [[maybe_unused]] const ssize_t written = ::write(options_.report.get(), text.data(), text.size());
}

void Supervisor::publish() {
  if (!is_changed_) return;
  is_changed_ = false;
  options_.state.processes.clear();
  for (const Held& held : held_) {
    options_.state.processes.push_back(held.ward.state());
    if (held.ward.plan().plays("directory")) {
      options_.state.directory_port = held.ward.state().port;
    }
  }
  const Status written = options_.run_directory.write_state(options_.state);
  if (!written.ok()) log_warning("supervisor", written.error().message());
}

void Supervisor::start(Held& held) {
  const Ward& ward = held.ward;
  ChildOptions child;
  child.command = options_.command;
  for (const std::string& word : {std::string("--run-dir"), options_.run_directory.path().string(),
                                  std::string("--name"), ward.plan().name}) {
    child.command.push_back(word);
  }
  child.environment = options_.plan.environment;
  child.environment.emplace_back("TROUPE_INCARNATION", std::to_string(ward.next_incarnation()));
  child.environment.emplace_back("TROUPE_NODE_PORT", std::to_string(ward.port_wanted()));
  child.log_file = ward.state().log_file;
  publish();  // the child reads where the directory is
  auto started = start_child(child);
  is_changed_ = true;
  held.line = ReadyLine();
  if (!started.ok()) {
    log_error("supervisor", started.error().message());
    held.ward.on_exit(started.error().what, now_ms());
    const bool gave_up = held.ward.failures() >= limits::start_attempts;
    if (options_.state.phase == Phase::starting && gave_up) fail_start(held);
    return;
  }
  held.pipe = std::move(started->ready_pipe);
  // A child that is dead already has no identity; its end is on its way as a signal.
  const ProcessId id = process_id(started->pid).value_or(ProcessId{.pid = started->pid});
  held.ward.on_started(id, now_ms(), options_.start_timeout_ms);
  tell(concat("starting ", ward.plan().name, " (pid ", started->pid, ", incarnation ",
              ward.state().incarnation, ")"));
}

// The processes that wait for the directory, once it is there.
void Supervisor::start_waiting() {
  const bool waits = std::ranges::any_of(held_, [](const Held& held) {
    return held.ward.plan().plays("directory") && held.ward.state().health != Health::ready;
  });
  for (Held& held : held_) {
    if (held.ward.state().health != Health::waiting) continue;
    if (!waits || held.ward.plan().plays("directory")) start(held);
  }
}

void Supervisor::on_ready(Held& held) {
  held.pipe.reset();
  held.ward.on_ready(held.line.port(), now_ms());
  is_changed_ = true;
  if (is_stopping_) return;
  tell(concat(held.ward.plan().name, " is ready on port ", held.line.port()));
  log_info("supervisor",
           concat(held.ward.plan().name, " joined as incarnation ", held.ward.state().incarnation));
  start_waiting();
  if (options_.state.phase != Phase::starting || !all_are(Health::ready)) return;
  options_.state.phase = Phase::ready;
  publish();
  tell("ready");
  options_.report.reset();
}

void Supervisor::read_pipe(Held& held) {
  char buffer[limits::ready_line];
  const ssize_t n = ::read(held.pipe.get(), buffer, sizeof buffer);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    held.pipe.reset();  // closed without a word: its death or its deadline decides
    return;
  }
  switch (held.line.add({buffer, static_cast<size_t>(n)})) {
    case ReadyLine::State::incomplete:
      return;
    case ReadyLine::State::ready:
      return on_ready(held);
    case ReadyLine::State::wrong:
      break;
  }
  log_error("supervisor", held.ward.plan().name + " wrote something else than \"ready <port>\"");
  held.pipe.reset();
  signal_process(held.ward.state().id, SIGKILL, true);
}

void Supervisor::on_death(Held& held, int wait_status) {
  const Ward& ward = held.ward;
  // What it started and left behind is of its group; nothing may survive it.
  ::kill(-ward.state().id.pid, SIGKILL);
  held.pipe.reset();
  const std::string how = describe_exit(wait_status);
  held.ward.on_exit(how, now_ms());
  is_changed_ = true;
  if (is_stopping_) return log_info("supervisor", ward.plan().name + " stopped: " + how);
  const bool is_refused = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == refused_exit;
  const bool gave_up = is_refused || ward.failures() >= limits::start_attempts;
  if (options_.state.phase == Phase::starting && gave_up) {
    tell(concat(ward.plan().name, " died (", how, ")"));
    return fail_start(held);
  }
  tell(concat(ward.plan().name, " died (", how, "), starting it again in ",
              ward.deadline_ms() - now_ms(), " ms"));
}

void Supervisor::reap() {
  int wait_status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &wait_status, WNOHANG)) > 0;) {
    for (Held& held : held_) {
      if (held.ward.state().id.pid != pid) continue;
      // "ready" may stand in the pipe of a process that died right after.
      if (held.pipe && held.ward.state().health == Health::starting) read_pipe(held);
      on_death(held, wait_status);
      break;
    }
  }
}

void Supervisor::take_signals() {
  signalfd_siginfo info{};
  bool is_child = false;
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCHLD) is_child = true;
    if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT) stop("asked to stop");
  }
  if (is_child) reap();
}

void Supervisor::on_deadline(Held& held) {
  held.ward.clear_deadline();
  if (held.ward.state().health == Health::restarting) return start(held);
  tell(concat(held.ward.plan().name, " was not ready within ", options_.start_timeout_ms, " ms"));
  signal_process(held.ward.state().id, SIGKILL, true);
}

void Supervisor::check_deadlines() {
  if (is_stopping_ && kill_at_ms_ >= 0 && now_ms() >= kill_at_ms_) {
    kill_at_ms_ = -1;
    for (const Held& held : held_) {
      if (!held.ward.is_running()) continue;
      if (!is_directory_told_ && held.ward.plan().plays("directory")) continue;
      log_warning("supervisor", held.ward.plan().name + " does not stop: killed");
      signal_process(held.ward.state().id, SIGKILL, true);
    }
  }
  for (Held& held : held_) {
    if (is_stopping_) break;
    if (held.ward.deadline_ms() >= 0 && now_ms() >= held.ward.deadline_ms()) on_deadline(held);
  }
}

void Supervisor::fail_start(const Held& held) {
  const ProcessState& state = held.ward.state();
  std::string what =
      concat("failed\nprocess \"", state.name, "\" did not become ready in ", held.ward.failures(),
             held.ward.failures() == 1 ? " attempt" : " attempts", " (", state.last_exit, ")");
  const std::string tail = tail_of(state.log_file);
  what += tail.empty() ? "; its log is empty" : "; the end of its log:\n" + tail;
  what += "\nthe whole log: " + state.log_file;
  exit_status_ = 1;
  tell(what);
  stop("the start failed");
}

void Supervisor::stop(const std::string& why) {
  if (is_stopping_) return;
  if (options_.report && exit_status_ == 0) {
    exit_status_ = 1;
    tell("failed\nstopped before the cluster was ready: " + why);
  }
  is_stopping_ = true;
  is_changed_ = true;
  options_.state.phase = Phase::stopping;
  kill_at_ms_ = now_ms() + options_.stop_timeout_ms;
  log_info("supervisor", "stopping: " + why);
  publish();  // a process that is told to stop reads whether all of them are
  for (Held& held : held_) {
    held.ward.on_stopping();
    if (held.ward.plan().plays("directory") || !held.ward.is_running()) continue;
    signal_process(held.ward.state().id, SIGTERM, false);
  }
}

// The directory goes last: until then whoever asks still learns who is there.
void Supervisor::stop_directory() {
  const bool others_run = std::ranges::any_of(held_, [](const Held& held) {
    return held.ward.is_running() && !held.ward.plan().plays("directory");
  });
  if (!is_stopping_ || is_directory_told_ || others_run) return;
  is_directory_told_ = true;
  kill_at_ms_ = now_ms() + std::min(options_.stop_timeout_ms, limits::directory_stop_ms);
  for (const Held& held : held_) {
    if (held.ward.is_running()) signal_process(held.ward.state().id, SIGTERM, false);
  }
}

bool Supervisor::all_are(Health health) const {
  return std::ranges::all_of(held_,
                             [&](const Held& held) { return held.ward.state().health == health; });
}

int Supervisor::timeout_ms() const {
  int64_t first = is_stopping_ ? kill_at_ms_ : -1;
  for (const Held& held : held_) {
    const int64_t deadline = is_stopping_ ? -1 : held.ward.deadline_ms();
    if (deadline >= 0 && (first < 0 || deadline < first)) first = deadline;
  }
  if (first < 0) return -1;
  return static_cast<int>(std::clamp<int64_t>(first - now_ms(), 0, 3'600'000));
}

void Supervisor::wait_for_events() {
  std::vector<pollfd> entries = {{signals_.get(), POLLIN, 0}, {options_.report.get(), 0, 0}};
  for (const Held& held : held_) entries.push_back({held.pipe.get(), POLLIN, 0});
  if (::poll(entries.data(), entries.size(), timeout_ms()) < 0) return;
  for (size_t i = 0; i < held_.size(); ++i) {
    // An earlier event of this round may have closed the pipe that poll spoke of.
    const bool is_same = held_[i].pipe.get() == entries[i + 2].fd;
    if (held_[i].pipe && is_same && entries[i + 2].revents != 0) read_pipe(held_[i]);
  }
  if (entries[1].revents != 0 && options_.report) {
    options_.report.reset();
    if (exit_status_ == 0) stop("whoever started the cluster went away");
  }
  take_signals();
}

int Supervisor::run() {
  if (!signals_) {
    // Nothing could be heard or stopped any more.
    tell(concat("failed\nthe supervisor cannot watch its processes: ", std::strerror(errno),
                " (is the limit on open files too low? ulimit -n says it)"));
    options_.run_directory.clear();
    return 1;
  }
  log_info("supervisor",
           concat("supervising ", held_.size(), " processes of cluster ", options_.state.name,
                  " on host ", options_.state.host, ", manifest ", options_.state.manifest_file,
                  ", digest ", options_.state.manifest_digest));
  start_waiting();
  while (!(is_stopping_ && all_are(Health::stopped))) {
    stop_directory();
    publish();
    wait_for_events();
    check_deadlines();
  }
  options_.run_directory.clear();
  log_info("supervisor", "stopped");
  return exit_status_;
}

}  // namespace

int supervise(SupervisorOptions options) {
  // Its log is read after the fact, so it tells more than a command on a terminal.
  set_log_level(parse_log_level(setting("TROUPE_LOG").value_or("info"), LogLevel::info));
  return Supervisor(std::move(options)).run();
}

}  // namespace troupe::launch
