// Clients that vanish or stop, and a cluster that is stopped under its clients.
#include "tests/support/cluster_request.hpp"

namespace troupe::testing {
namespace {

std::vector<std::string> endless(const char* prompt) {
  return {"generate",      prompt, "--max-tokens", "15000", "--ignore-eos",
          "--temperature", "1",    "--seed",       "5"};
}

bool is_running(TestCluster& cluster, int count) {
  return cluster.worker("decode").value("running", -1) == count;
}

TEST_CASE(
    "vanish: the work of a client that is killed stops, one that is stopped disturbs nobody") {
  TestCluster cluster;
  cluster.up();
  {
    const auto victim = cluster.start(endless("one"));
    REQUIRE(eventually([&] { return victim->out().size() > 200; }, 20'000));
    victim->send(SIGKILL);
    CHECK(eventually([&] { return is_running(cluster, 0); }, 2'500));
    CHECK(cluster.wait_idle() == "");
  }
  {
    INFO("Ctrl-C ends a request the same way");
    const auto victim = cluster.start(endless("two"));
    REQUIRE(eventually([&] { return victim->out().size() > 200; }, 20'000));
    victim->send(SIGINT);
    CHECK(victim->wait(5'000).exit_code == 130);
    CHECK(cluster.wait_idle(2'500) == "");
  }
  Reference reference(cluster.model_path());
  const auto request = request_of(some_tokens(200, 71), 400);
  const auto wanted = reference.run(request);
  const auto stopped = cluster.start(endless("three"));
  REQUIRE(eventually([&] { return stopped->out().size() > 200; }, 20'000));
  stopped->send(SIGSTOP);
  auto client = cluster.client();
  for (int i = 0; i < 2; ++i) check_same(RunningRequest(*client, request).result(20'000), wanted);
  stopped->send(SIGCONT);
  const size_t held = stopped->out().size();
  CHECK(eventually([&] { return stopped->out().size() > held; }, 10'000));
  stopped->send(SIGKILL);
  CHECK(cluster.wait_idle() == "");
}

TEST_CASE("vanish: down while streams run leaves nothing, and the clients are told") {
  TestCluster cluster;
  cluster.up();
  const auto streaming = cluster.start(endless("four"));
  const auto second = cluster.start(endless("five"));
  REQUIRE(eventually([&] { return streaming->out().size() > 200; }, 20'000));
  REQUIRE(eventually([&] { return second->out().size() > 200; }, 20'000));
  streaming->send(SIGSTOP);
  const TimeUs before = now_us();
  const Finished down = cluster.run({"down"});
  CHECK(down.exit_code == 0);
  CHECK(down.out.find("had to be killed") == std::string::npos);
  CHECK(now_us() - before < 8'000'000);
  streaming->send(SIGKILL);
  second->send(SIGINT);
  const Finished told = second->wait(5'000);
  CHECK_FALSE(told.timed_out);
  CHECK(told.exit_code != 0);
}

}  // namespace
}  // namespace troupe::testing
