#include "launch/run_directory.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "launch/back_off.hpp"
#include "launch/child.hpp"
#include "launch/salt_secret.hpp"
#include "launch/ward.hpp"
#include "tests/launch/temporary_folder.hpp"

namespace troupe::launch {
namespace {

namespace fs = std::filesystem;

ClusterState some_state() {
  ClusterState state;
  state.name = "c";
  state.run_dir = "/run/c";
  state.phase = Phase::ready;
  state.supervisor = {.pid = 12, .start_time = 34};
  state.directory_host = "127.0.0.1";
  state.directory_port = 4000;
  ProcessState process;
  process.name = "p";
  process.roles = {"prefill", "decode"};
  process.id = {.pid = 56, .start_time = 78};
  process.incarnation = 9;
  process.health = Health::restarting;
  process.last_exit = "signal 9 \xff";
  state.processes = {process};
  return state;
}

TEST_CASE("the state survives its file; a damaged one is an error") {
  const ClusterState state = some_state();
  const std::string json = to_json(state);
  const auto back = parse_cluster_state(json);
  REQUIRE_MESSAGE(back.ok(), back.error().message());
  CHECK(back->supervisor == state.supervisor);
  CHECK(back->phase == Phase::ready);
  CHECK(back->find("p")->id == state.processes[0].id);
  CHECK(back->find("p")->health == Health::restarting);
  CHECK(back->find("p")->roles == state.processes[0].roles);
  CHECK(back->find("q") == nullptr);
  for (size_t cut = 0; cut + 1 < json.size(); cut += 7) {
    CHECK_FALSE(parse_cluster_state(json.substr(0, cut)).ok());
  }
  for (const char* bad : {"[]", "1", "{}", "null", "{\"cluster\": 1}"}) {
    CHECK_FALSE(parse_cluster_state(bad).ok());
  }
  std::string wrong = json;
  wrong.replace(wrong.find("4000"), 4, "99999");
  CHECK(parse_cluster_state(wrong).error().what ==
        "the cluster's state file is damaged at \"directory_port\"");
}

TEST_CASE("the run directory is private, or refused") {
  const TemporaryFolder folder;
  const fs::path root = folder.path() / "deep" / "run";
  ::setenv("TROUPE_RUN_DIR", root.c_str(), 1);
  const auto made = RunDirectory::make("c");
  REQUIRE_MESSAGE(made.ok(), made.error().message());
  CHECK(made->path() == root / "c");
  struct stat info {};
  REQUIRE(::stat(made->path().c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
  CHECK(RunDirectory::find("c").ok());
  REQUIRE(RunDirectory::make("quickstart").ok());
  CHECK(RunDirectory::find("quikstart").error().message().find("did you mean \"quickstart\"?") !=
        std::string::npos);
  CHECK_FALSE(RunDirectory::make("../c").ok());
  CHECK_FALSE(RunDirectory::make("").ok());

  ::chmod(made->path().c_str(), 0755);
  CHECK(RunDirectory::make("c").error().message().find("open to other users") != std::string::npos);
  fs::create_directory_symlink(folder.path(), root / "link");
  CHECK(RunDirectory::make("link").error().message().find("is a link") != std::string::npos);
  ::chmod(root.c_str(), 0777);
  CHECK_FALSE(RunDirectory::make("d").ok());
}

TEST_CASE("one owner at a time, and no trace but the logs") {
  const TemporaryFolder folder;
  ::setenv("TROUPE_RUN_DIR", (folder.path() / "run").c_str(), 1);
  const auto made = RunDirectory::make("c");
  REQUIRE(made.ok());
  {
    const auto lock = made->lock();
    REQUIRE(lock.ok());
    CHECK(made->lock().error().code == Code::failed_precondition);
  }
  CHECK(made->lock().ok());
  REQUIRE(made->prepare().ok());
  REQUIRE(write_file(made->log_file("p"), "first").ok());
  REQUIRE(write_file(made->certificates() / "ca.pem", "x").ok());
  REQUIRE(made->write_state(some_state()).ok());
  const auto secret = provide_salt_secret(made->path());
  REQUIRE(secret.ok());
  CHECK(made->read_state()->processes.size() == 1);
  made->clear();
  CHECK_FALSE(made->read_state().ok());
  CHECK_FALSE(fs::exists(made->certificates()));
  CHECK(fs::exists(made->log_file("p")));
  REQUIRE(made->prepare().ok());
  CHECK(*read_salt_secret(made->path()) == *secret);
  CHECK_FALSE(fs::exists(made->log_file("p")));
  CHECK(*read_file(made->log_file("p").string() + ".1", 100) == "first");
}

TEST_CASE("small files") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "f";
  REQUIRE(write_file(file, "one").ok());
  REQUIRE(write_file(file, "two").ok());
  CHECK(*read_file(file, 3) == "two");
  CHECK(read_file(file, 2).error().code == Code::exhausted);
  CHECK_FALSE(create_file(file, "three").ok());
  CHECK(read_file(folder.path(), 10).error().what.find("not a regular file") != std::string::npos);
  REQUIRE(::mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
  CHECK_FALSE(read_file(folder.path() / "pipe", 10).ok());
  std::string log;
  for (int i = 0; i < 2000; ++i) log += "line " + std::to_string(i) + "\n";
  REQUIRE(write_file(file, log).ok());
  const std::string tail = tail_of(file);
  CHECK(tail.starts_with("line 1988\n"));
  CHECK(tail.ends_with("\nline 1999"));
  CHECK(tail_of(folder.path() / "none").empty());
}

TEST_CASE("the back-off doubles to its limit and starts anew after a long life") {
  BackOff back_off;
  std::vector<int64_t> delays;
  for (int i = 0; i < 8; ++i) delays.push_back(back_off.next_ms(0));
  CHECK(delays == std::vector<int64_t>{100, 200, 400, 800, 1600, 3200, 5000, 5000});
  CHECK(back_off.next_ms(29'999) == 5000);
  CHECK(back_off.next_ms(30'000) == 100);
  CHECK(back_off.next_ms(0) == 200);
}

TEST_CASE("the life of a process") {
  PlannedProcess plan;
  plan.name = "p";
  Ward ward(plan, "p.log");
  CHECK(ward.state().health == Health::waiting);
  ward.on_started({.pid = 1, .start_time = 1}, 1000, 500);
  CHECK(ward.deadline_ms() == 1500);
  ward.on_exit("exit status 1", 1100);
  CHECK(ward.state().health == Health::restarting);
  CHECK(ward.deadline_ms() == 1200);
  CHECK(ward.failures() == 1);
  ward.on_started({.pid = 2, .start_time = 1}, 1200, 500);
  ward.on_ready(77, 1300);
  CHECK(ward.deadline_ms() < 0);
  CHECK(ward.port_wanted() == 77);
  ward.on_exit("signal 9", 100'000);
  CHECK(ward.deadline_ms() == 100'100);
  CHECK(ward.port_wanted() == 77);
  ward.on_started({.pid = 3, .start_time = 1}, 100'100, 500);
  CHECK(ward.state().incarnation == 3);
  ward.on_exit("exit status 1", 100'200);
  CHECK(ward.port_wanted() == 0);
  ward.on_stopping();
  CHECK(ward.state().health == Health::stopped);
}

TEST_CASE("the ready line, in pieces and wrong") {
  ReadyLine line;
  CHECK(line.add("rea") == ReadyLine::State::incomplete);
  CHECK(line.add("dy 65535") == ReadyLine::State::incomplete);
  CHECK(line.add("\n") == ReadyLine::State::ready);
  CHECK(line.port() == 65535);
  for (const char* bad : {"ready 65536\n", "ready -1\n", "ready\n", "ready 1 2\n", "\n"}) {
    CHECK_MESSAGE(ReadyLine().add(bad) == ReadyLine::State::wrong, bad);
  }
  CHECK(ReadyLine().add(std::string(64, 'x')) == ReadyLine::State::wrong);
}

TEST_CASE("a process is known by more than its number") {
  const auto self = process_id(::getpid());
  REQUIRE(self);
  CHECK(is_alive(*self));
  CHECK_FALSE(is_alive({.pid = self->pid, .start_time = self->start_time + 1}));
  CHECK_FALSE(signal_process({.pid = self->pid, .start_time = 1}, SIGKILL, false));
  CHECK_FALSE(process_id(0));
  CHECK_FALSE(process_id(-1));
  CHECK_FALSE(wait_gone(*self, 20));
}

}  // namespace
}  // namespace troupe::launch
