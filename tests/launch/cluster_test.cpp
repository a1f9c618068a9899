#include "launch/cluster.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/concat.hpp"
#include "launch/node.hpp"
#include "launch/run_directory.hpp"
#include "tests/launch/fake_cluster.hpp"
#include "tests/support/loopback.hpp"

namespace troupe::launch {
namespace {

namespace fs = std::filesystem;

UpReport must_start(const FakeCluster& cluster) {
  auto report = up(cluster.options());
  REQUIRE_MESSAGE(report.ok(), report.error().message());
  return std::move(report).value();
}

TEST_CASE("a cluster comes up, says what it is, and goes down without a trace") {
  const FakeCluster cluster(good_script);
  std::vector<std::string> steps;
  UpOptions options = cluster.options();
  options.progress = [&](std::string_view line) { steps.emplace_back(line); };
  const auto report = up(options);
  REQUIRE_MESSAGE(report.ok(), report.error().message());
  const ClusterState& state = report->state;
  CHECK(state.phase == Phase::ready);
  CHECK(state.directory_host == "127.0.0.1");
  CHECK(state.directory_port == 4001);
  REQUIRE(state.processes.size() == 3);
  CHECK(state.processes[0].name == "head");
  for (const ProcessState& process : state.processes) {
    CHECK(process.health == Health::ready);
    CHECK(process.incarnation == 1);
    CHECK(is_alive(process.id));
  }
  CHECK(cluster.leaders() == 3);
  REQUIRE(steps.size() >= 6);
  CHECK(steps[0].starts_with("starting head"));
  CHECK(steps[1] == "head is ready on port 4001");
  CHECK(*running_clusters() == std::vector<std::string>{"fake"});
  CHECK(to_table(state).find("prefill  prefill") != std::string::npos);

  const auto again = up(options);
  REQUIRE_FALSE(again.ok());
  CHECK(again.error().code == Code::failed_precondition);
  CHECK(again.error().message().find("already running (supervisor pid") != std::string::npos);
  CHECK(cluster.leaders() == 3);

  const auto stopped = down();
  REQUIRE_MESSAGE(stopped.ok(), stopped.error().message());
  CHECK(stopped->cluster == "fake");
  CHECK(stopped->leftover.empty());
  CHECK_FALSE(stopped->was_stale);
  CHECK(cluster.running() == 0);
  CHECK_FALSE(is_alive(state.supervisor));
  CHECK_FALSE(fs::exists(cluster.run_dir() / "cluster.json"));
  CHECK_FALSE(fs::exists(cluster.run_dir() / "certs"));
  CHECK(cluster.read(cluster.run_dir() / "logs" / "decode.log") ==
        "decode incarnation 1 port 4003 ucx none\n");
  CHECK(running_clusters()->empty());
  CHECK(status().error().code == Code::not_found);
  CHECK(down("fake").error().what == "no cluster \"fake\" is running");
}

TEST_CASE("a process that dies comes back as a new incarnation at the same port") {
  const FakeCluster cluster(good_script);
  must_start(cluster);
  const ProcessState before = cluster.process("decode");
  REQUIRE(signal_process(before.id, SIGKILL, false));
  CHECK(eventually([&] {
    const ProcessState now = cluster.process("decode");
    return now.incarnation == 2 && now.health == Health::ready;
  }));
  const ProcessState after = cluster.process("decode");
  CHECK(after.id.pid != before.id.pid);
  CHECK(after.port == before.port);
  CHECK(after.last_exit == "signal 9 (Killed)");
  CHECK(cluster.process("head").incarnation == 1);
  CHECK(cluster.leaders() == 3);
  const std::string log = cluster.read(cluster.run_dir() / "logs" / "supervisor.log");
  for (const char* line : {"supervising 3 processes of cluster fake on host local",
                           "starting decode (pid ", "decode joined as incarnation 1",
                           "decode died (signal 9 (Killed)), starting it again in 100 ms",
                           ", incarnation 2)", "decode joined as incarnation 2"}) {
    INFO(log);
    CHECK_MESSAGE(log.find(line) != std::string::npos, std::string(line));
  }
  const auto stopped = down("fake");
  CHECK(stopped.ok());
  CHECK(cluster.running() == 0);
}

TEST_CASE("what a process learns from its supervisor") {
  const FakeCluster cluster(good_script);
  const UpReport report = must_start(cluster);
  const auto start = node_start(cluster.run_dir(), "prefill");
  REQUIRE_MESSAGE(start.ok(), start.error().message());
  CHECK(start->cluster == "fake");
  CHECK(start->process.plays("prefill"));
  CHECK(start->process.model_path == (cluster.path() / "m.gguf").string());
  CHECK(start->directory_port == 4001);
  CHECK(start->spec.limits().running_max() == 64);
  CHECK(fs::exists(start->certificates.key));
  CHECK(start->manifest_digest == report.state.manifest_digest);
  CHECK(node_start(cluster.run_dir(), "nobody").error().code == Code::not_found);
  CHECK_FALSE(node_start(cluster.path() / "nowhere", "head").ok());
  CHECK(verify_certificate(report.state.certificates, "client").ok());
}

TEST_CASE("a process that cannot start: three attempts, then its last words") {
  const FakeCluster cluster("[ $name = prefill ] || { " + good_script +
                            "; }\necho \"no weights for $name\" >&2; exit 7");
  const auto report = up(cluster.options());
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().code == Code::unavailable);
  CHECK(report.error().what.find("process \"prefill\" did not become ready in 3 attempts (exit "
                                 "status 7); the end of its log:\nno weights for prefill\nno "
                                 "weights for prefill\nno weights for prefill\n") == 0);
  CHECK(cluster.running() == 0);
  CHECK(running_clusters()->empty());
}

TEST_CASE("a process that refuses to start is not tried again") {
  const FakeCluster cluster("[ $name = prefill ] || { " + good_script +
                            "; }\necho \"no such weights\" >&2; exit 2");
  const auto report = up(cluster.options());
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().what.find("process \"prefill\" did not become ready in 1 attempt (exit "
                                 "status 2); the end of its log:\nno such weights\n") == 0);
  CHECK(cluster.running() == 0);
}

TEST_CASE("the directory is stopped last") {
  const std::string slow =
      good_script.substr(0, good_script.find("trap")) +
      "trap 'date +%s%N >$run_dir/../$name.told; [ $name = head ] || sleep 0.3; "
      "date +%s%N >$run_dir/../$name.over; exit 0' TERM\n"
      "while :; do sleep 0.05; done";
  const FakeCluster cluster(slow);
  must_start(cluster);
  const auto stopped = down();
  REQUIRE(stopped.ok());
  CHECK(stopped->leftover.empty());
  const auto time_of = [&](const std::string& name) {
    const std::string text = cluster.read(cluster.run_dir().parent_path() / name);
    REQUIRE_FALSE(text.empty());
    return std::stoll(text);
  };
  for (const char* worker : {"prefill.over", "decode.over"}) {
    CHECK(time_of(worker) <= time_of("head.told"));
  }
}

TEST_CASE("KV memory that this machine cannot have starts nothing") {
  const FakeCluster cluster(good_script, "",
                            "}\n  - {name: more, run: [decode], kv_memory: 4096TiB");
  const auto report = up(cluster.options());
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().code == Code::exhausted);
  CHECK(report.error().what.find("manifest.yaml:6:33: roles[1].kv_memory: the processes of host") !=
        std::string::npos);
  CHECK(report.error().what.find("this machine has ") != std::string::npos);
  CHECK_FALSE(fs::exists(cluster.run_dir()));
}

TEST_CASE("a process that says nothing, or nonsense, or does not exist") {
  const std::string limits = "limits: {start_timeout: 150ms, stop_timeout: 2s}\n";
  SUBCASE("nothing") {
    const FakeCluster cluster("exec sleep 1000", limits);
    const auto report = up(cluster.options());
    REQUIRE_FALSE(report.ok());
    CHECK(report.error().what.find("\"head\" did not become ready") != std::string::npos);
    CHECK(cluster.running() == 0);
  }
  SUBCASE("nonsense") {
    const FakeCluster cluster("echo hello >&3; exec sleep 1000");
    CHECK_FALSE(up(cluster.options()).ok());
    CHECK(cluster.running() == 0);
  }
  SUBCASE("no such program") {
    const FakeCluster cluster("");
    UpOptions options = cluster.options();
    options.command = {"/nonexistent/troupe", "node"};
    const auto report = up(options);
    REQUIRE_FALSE(report.ok());
    CHECK(report.error().what.find("/nonexistent/troupe: No such file") != std::string::npos);
  }
}

TEST_CASE("a process that does not stop is killed, with what it started") {
  const FakeCluster cluster("sh -c 'sleep 1000; :' \"$0\" 3>&- &\n" +
                                good_script.substr(0, good_script.find("trap")) +
                                "trap '' TERM\nwhile :; do sleep 0.05; done",
                            "limits: {stop_timeout: 200ms}\n");
  must_start(cluster);
  CHECK(cluster.leaders() == 3);
  CHECK(eventually([&] { return cluster.running() >= 6; }));
  const auto stopped = down();
  REQUIRE(stopped.ok());
  CHECK(stopped->took_ms >= 150);
  CHECK(eventually([&] { return cluster.running() == 0; }));
}

TEST_CASE("a supervisor that is killed takes its processes along; down and up tidy up") {
  const FakeCluster cluster(good_script);
  const UpReport first = must_start(cluster);
  REQUIRE(signal_process(first.state.supervisor, SIGKILL, false));
  CHECK(eventually([&] { return cluster.running() == 0; }));
  const auto stale = status("fake");
  REQUIRE(stale.ok());
  CHECK(stale->is_stale);
  for (const ProcessState& process : stale->processes) CHECK(process.health == Health::dead);
  CHECK(to_table(*stale).find("ready") == std::string::npos);
  SUBCASE("down") {
    const auto stopped = down();
    REQUIRE(stopped.ok());
    CHECK(stopped->was_stale);
    CHECK(running_clusters()->empty());
  }
  SUBCASE("up") {
    const UpReport second = must_start(cluster);
    CHECK(second.state.processes[0].incarnation == 1);
    CHECK(cluster.leaders() == 3);
    CHECK(down().ok());
    CHECK(cluster.running() == 0);
  }
}

TEST_CASE("whoever interrupts a start leaves nothing behind") {
  const FakeCluster cluster("exec sleep 1000");
  for (const int number : {SIGINT, SIGKILL}) {
    const pid_t starter = ::fork();
    if (starter == 0) ::_exit(up(cluster.options()).ok() ? 0 : 3);
    REQUIRE(eventually([&] { return cluster.process("head").id.pid != 0; }));
    const ProcessId head = cluster.process("head").id;
    const ProcessId supervisor = status("fake")->supervisor;
    ::kill(starter, number);
    int how = 0;
    REQUIRE(::waitpid(starter, &how, 0) == starter);
    if (number == SIGINT) CHECK(WEXITSTATUS(how) == 3);
    CHECK(wait_gone(supervisor, 5000));
    CHECK_FALSE(is_alive(head));
    CHECK(running_clusters()->empty());
  }
}

TEST_CASE("a cluster can be stopped while it starts") {
  const FakeCluster cluster("exec sleep 1000");
  const pid_t starter = ::fork();
  if (starter == 0) {
    const auto report = up(cluster.options());
    ::_exit(!report.ok() && report.error().what.find("stopped before") == 0 ? 4 : 5);
  }
  REQUIRE(eventually([&] { return cluster.process("head").id.pid != 0; }));
  CHECK(down("fake").ok());
  int how = 0;
  REQUIRE(::waitpid(starter, &how, 0) == starter);
  CHECK(WEXITSTATUS(how) == 4);
  CHECK(cluster.running() == 0);
}

TEST_CASE("processes that become ready after they were told to stop are stopped") {
  // As one that loads a model: it goes on to its word, and looks at the signal then.
  const FakeCluster cluster(
      "trap 'told=1' TERM\n"
      "if [ $name = head ] || [ $TROUPE_INCARNATION = 2 ]; then echo \"ready 4001\" >&3; else\n"
      "  touch $run_dir/../$name.starts\n"
      "  while [ -z \"$told\" ]; do sleep 0.02; done; echo \"ready 4002\" >&3; sleep 0.2\n"
      "fi\n"
      "while [ -z \"$told\" ]; do sleep 0.02; done");
  const pid_t starter = ::fork();
  if (starter == 0) ::_exit(up(cluster.options()).ok() ? 5 : 4);
  REQUIRE(eventually([&] {
    return fs::exists(cluster.path() / "run" / "prefill.starts") &&
           fs::exists(cluster.path() / "run" / "decode.starts");
  }));
  const TimeUs before = now_us();
  const auto stopped = down("fake");
  REQUIRE(stopped.ok());
  CHECK(stopped->leftover.empty());
  CHECK(now_us() - before < 8'000'000);
  int how = 0;
  REQUIRE(::waitpid(starter, &how, 0) == starter);
  CHECK(WEXITSTATUS(how) == 4);
  CHECK(cluster.running() == 0);
}

TEST_CASE("a supervisor without file descriptors gives up, and nothing stays") {
  const FakeCluster cluster(good_script);
  for (const rlim_t files : {8, 10, 12, 14}) {
    CAPTURE(files);
    const pid_t starter = ::fork();
    if (starter == 0) {
      const rlimit limit{files, files};
      ::setrlimit(RLIMIT_NOFILE, &limit);
      ::_exit(up(cluster.options()).ok() ? 5 : 4);
    }
    int how = 0;
    REQUIRE(eventually([&] { return ::waitpid(starter, &how, WNOHANG) == starter; }, 20'000));
    REQUIRE(WIFEXITED(how));
    if (WEXITSTATUS(how) == 5) {
      CHECK(down("fake").ok());
    } else {
      CHECK(eventually([&] { return cluster.running() == 0; }));
      CHECK(RunDirectory::make("fake")->lock().ok());
    }
  }
}

TEST_CASE("of two clusters the one that lives is meant, unless another is named") {
  const FakeCluster cluster(good_script);
  must_start(cluster);
  ClusterState left;
  left.name = "left";
  left.supervisor = ProcessId{.pid = 999'999'999, .start_time = 1};
  const auto folder = RunDirectory::make("left");
  REQUIRE(folder.ok());
  REQUIRE(folder->write_state(left).ok());
  REQUIRE(running_clusters()->size() == 2);
  CHECK(status()->name == "fake");
  CHECK(status("left")->is_stale);
  CHECK(down()->cluster == "fake");
  CHECK(status()->name == "left");
  CHECK(down()->was_stale);
  CHECK(running_clusters()->empty());
}

TEST_CASE("a port that is taken") {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = testing::loopback(0);
  socklen_t length = sizeof address;
  REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0);
  REQUIRE(::listen(fd, 1) == 0);
  REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  const FakeCluster cluster(good_script, "", ", port: " + port);
  const auto report = up(cluster.options());
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().what ==
        concat((cluster.path() / "manifest.yaml").string(), ":5:51: port ", port,
               " of process \"head\" cannot be used on 127.0.0.1: Address already in use"));
  ::close(fd);
  CHECK(up(cluster.options()).ok());
  CHECK(cluster.process("head").port == ntohs(address.sin_port));
}

TEST_CASE("a manifest that is wrong starts nothing") {
  const FakeCluster cluster(good_script);
  fs::remove(cluster.path() / "m.gguf");
  const auto report = up(cluster.options());
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().what.find("manifest.yaml:3:") != std::string::npos);
  CHECK(report.error().what.find("there is no file \"m.gguf\"") != std::string::npos);
  CHECK_FALSE(fs::exists(cluster.run_dir()));
}

}  // namespace
}  // namespace troupe::launch
