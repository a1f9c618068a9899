#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

#include "base/clock.hpp"
#include "base/concat.hpp"
#include "launch/certificates.hpp"
#include "launch/cluster.hpp"
#include "launch/daemon.hpp"
#include "launch/end_signals.hpp"
#include "launch/leftover.hpp"
#include "launch/limits.hpp"
#include "launch/machine.hpp"
#include "launch/manifest.hpp"
#include "launch/run_directory.hpp"
#include "launch/salt_secret.hpp"
#include "launch/start_problems.hpp"
#include "launch/supervisor.hpp"

namespace troupe::launch {
namespace {

// Blocks what would end the command while it lives and makes it readable.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t wanted;
    sigemptyset(&wanted);
    // Whoever starts it in the background of a script has it ignore SIGINT.
    for (const int number : end_signals()) {
      if (!is_ignored(number)) sigaddset(&wanted, number);
    }
    ::sigprocmask(SIG_BLOCK, &wanted, &before_);
    fd_ = Descriptor(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~HeldSignals() {
    signalfd_siginfo ignored{};
    while (::read(fd_.get(), &ignored, sizeof ignored) > 0) {
    }
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  sigset_t before_{};
  Descriptor fd_;
};

// Where the manifest says on which address the process listens.
std::string where_host(const Manifest& manifest, const PlannedProcess& process) {
  for (int i = 0; i < manifest.spec.hosts_size(); ++i) {
    if (manifest.spec.hosts(i).name() == process.host) {
      return manifest.where(concat("hosts[", i, "].address"));
    }
  }
  return manifest.where("hosts");
}

// Whether a process could listen there now.
Status check_port_free(const Manifest& manifest, const PlannedProcess& process) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(process.port);
  if (::getaddrinfo(process.address.c_str(), port.c_str(), &hints, &found) != 0) {
    return error(Code::invalid_argument,
                 concat(where_host(manifest, process), "address \"", process.address,
                        "\" of process \"", process.name,
                        "\" is not known here, expected an IP address or a name that resolves"));
  }
  const Descriptor fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const int bound = ::bind(fd.get(), found->ai_addr, found->ai_addrlen);
  const int reason = errno;
  ::freeaddrinfo(found);
  if (bound == 0) return {};
  errno = reason;
  Error failed =
      system_error(concat(reason == EADDRNOTAVAIL ? where_host(manifest, process)
                                                  : manifest.where(process.field + ".port"),
                          "port ", process.port, " of process \"", process.name,
                          "\" cannot be used on ", process.address));
  failed.hint = reason == EADDRNOTAVAIL
                    ? "expected an address of this machine, or --host with another host's name"
                    : "choose another port in the manifest, or leave it out";
  return failed;
}

Status check_ports(const Manifest& manifest, const LaunchPlan& plan) {
  for (const PlannedProcess& process : plan.processes) {
    if (process.is_here) TROUPE_TRY(check_port_free(manifest, process));
  }
  return {};
}

// Makes or checks the certificates and says where they are.
Result<std::filesystem::path> provide_certificates(const Manifest& manifest, const LaunchPlan& plan,
                                                   const RunDirectory& folder) {
  const std::string& given = manifest.spec.security().certificates_path();
  if (given.empty()) {
    TROUPE_TRY(make_certificates(folder.certificates(), plan.cluster, certified_nodes(plan)));
    TROUPE_TRY(copy_salt_secret(folder.path(), folder.certificates()));
    return folder.certificates();
  }
  TROUPE_TRY(check_certificates(manifest, plan));
  std::error_code ignored;
  return std::filesystem::absolute(given, ignored);
}

Result<ClusterState> first_state(const Manifest& manifest, const LaunchPlan& plan,
                                 const RunDirectory& folder) {
  ClusterState state;
  state.name = plan.cluster;
  state.run_dir = folder.path().string();
  state.started_unix_s = std::chrono::duration_cast<std::chrono::seconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
  std::error_code ignored;
  state.manifest_file = std::filesystem::absolute(manifest.file_name, ignored).string();
  state.manifest_digest = manifest.digest;
  state.host = plan.host;
  state.stop_timeout_ms = manifest.spec.limits().stop_timeout_ms();
  for (const v1::Manifest::Host& host : manifest.spec.hosts()) {
    HostState& known = state.hosts.emplace_back(HostState{host.name(), host.address(), {}});
    for (const PlannedProcess& process : plan.processes) {
      if (process.host == host.name()) known.processes.push_back(process.name);
    }
  }
  const PlannedProcess& directory = plan.processes.front();
  state.directory_host = directory.address;
  state.directory_port = directory.port;
  TROUPE_ASSIGN(const auto certificates, provide_certificates(manifest, plan, folder));
  state.certificates = certificates.string();
  return state;
}

std::vector<std::string> default_command() {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  // A program file that was replaced since we started can still be run through the link.
  const bool is_there = !failed && std::filesystem::exists(self, failed);
  return {is_there ? self.string() : std::string("/proc/self/exe"), "node"};
}

// Reads the supervisor's lines; true once it is ready, false at its end or a signal.
class Report {
 public:
  Report(Descriptor pipe, const UpOptions& options) : pipe_(std::move(pipe)), options_(options) {}

  /// Waits for "ready" or the end of the pipe.
  void wait(int signal_fd);
  [[nodiscard]] bool is_ready() const { return is_ready_; }
  [[nodiscard]] bool is_cancelled() const { return is_cancelled_; }
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  void take_lines();

  Descriptor pipe_;
  const UpOptions& options_;
  std::string text_;
  std::string failure_;
  bool is_failing_ = false;
  bool is_ready_ = false;
  bool is_cancelled_ = false;
};

void Report::take_lines() {
  for (size_t end = 0; (end = text_.find('\n')) != std::string::npos;) {
    const std::string line = text_.substr(0, end);
    text_.erase(0, end + 1);
    if (is_failing_) {
      failure_ += (failure_.empty() ? "" : "\n") + line;
    } else if (line == "failed") {
      is_failing_ = true;
    } else if (line == "ready") {
      is_ready_ = true;
    } else if (options_.progress) {
      options_.progress(line);
    }
  }
}

void Report::wait(int signal_fd) {
  char buffer[4096];
  while (!is_ready_) {
    pollfd entries[] = {{pipe_.get(), POLLIN, 0}, {signal_fd, POLLIN, 0}};
    if (::poll(entries, 2, -1) < 0) continue;
    if (entries[1].revents != 0) {
      is_cancelled_ = true;
      break;
    }
    const ssize_t n = ::read(pipe_.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text_.append(buffer, static_cast<size_t>(n));
    take_lines();
  }
  pipe_.reset();
}

// The supervisor holds the lock to its end.
void wait_unlocked(const RunDirectory& folder, int64_t timeout_ms) {
  const int64_t deadline_us = now_us() + timeout_ms * 1000;
  while (now_us() < deadline_us && !folder.lock().ok()) ::poll(nullptr, 0, 20);
}

// Everything between taking the lock and the supervisor's start.
Result<SupervisorOptions> prepare(const Manifest& manifest, LaunchPlan plan,
                                  const RunDirectory& folder, const UpOptions& options) {
  if (const auto old = folder.read_state(); old.ok()) kill_leftover(*old);
  TROUPE_TRY(folder.prepare());
  TROUPE_TRY(check_ports(manifest, plan));
  TROUPE_ASSIGN(ClusterState state, first_state(manifest, plan, folder));
  TROUPE_TRY(write_file(folder.manifest_file(), manifest.spec.SerializeAsString()));
  const auto& limits = manifest.spec.limits();
  return SupervisorOptions{.run_directory = folder,
                           .plan = std::move(plan),
                           .state = std::move(state),
                           .command = options.command.empty() ? default_command() : options.command,
                           .start_timeout_ms = static_cast<int64_t>(limits.start_timeout_ms()),
                           .stop_timeout_ms = static_cast<int64_t>(limits.stop_timeout_ms()),
                           .report = {}};
}

}  // namespace

Result<UpReport> up(const UpOptions& options) {
  const int64_t start_us = now_us();
  TROUPE_ASSIGN(const Manifest manifest, load_manifest(options.manifest, options.host));
  TROUPE_ASSIGN(LaunchPlan plan, make_plan(manifest, options.host));
  TROUPE_TRY(check_memory(manifest, this_machine(), plan));
  TROUPE_ASSIGN(const RunDirectory folder, RunDirectory::make(plan.cluster));
  TROUPE_ASSIGN(Descriptor lock, folder.lock());
  auto supervisor = prepare(manifest, plan, folder, options);
  if (!supervisor.ok()) {
    folder.clear();
    return std::move(supervisor).error();
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe");
  Report report(Descriptor(ends[0]), options);
  supervisor->report = Descriptor(ends[1]);
  if (const PlannedProcess& directory = plan.processes.front();
      !directory.is_here && options.progress) {
    options.progress(concat("joining the directory at ", directory.address, ":", directory.port,
                            " on host ", directory.host));
  }
  const HeldSignals signals;
  TROUPE_TRY(start_daemon(folder.log_file("supervisor"), {lock.get(), ends[1]},
                          [&] { return supervise(std::move(supervisor).value()); }));
  lock.reset();
  supervisor->report.reset();
  report.wait(signals.fd());
  if (report.is_ready()) {
    TROUPE_ASSIGN(ClusterState state, folder.read_state());
    return UpReport{std::move(state), plan.notes, (now_us() - start_us) / 1000};
  }
  const auto grace_ms = static_cast<int64_t>(manifest.spec.limits().stop_timeout_ms()) + 5'000;
  wait_unlocked(folder, grace_ms);
  if (report.is_cancelled()) return error(Code::cancelled, "the start was interrupted");
  if (!report.failure().empty()) return error(Code::unavailable, report.failure());
  return error(Code::internal, "the supervisor ended unexpectedly; the end of its log:\n" +
                                   tail_of(folder.log_file("supervisor")));
}

}  // namespace troupe::launch
