// Clients that vanish or stop, and a cluster that is stopped under its clients.
#include <sys/socket.h>

#include "actors/limits.hpp"
#include "tests/support/cluster_request.hpp"
#include "tests/support/loopback.hpp"

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

TEST_CASE(
    "vanish: a client that stands still frees its worker in time, and goes on when it wakes") {
  TestCluster cluster;
  cluster.up();
  const std::vector<std::string> asked = {"generate", "six",          "--max-tokens",
                                          "6000",     "--ignore-eos", "--temperature",
                                          "1",        "--seed",       "5"};
  const Finished undisturbed = cluster.run(asked, 120'000);
  REQUIRE(undisturbed.exit_code == 0);
  const auto sleeper = cluster.start(asked);
  REQUIRE(eventually([&] { return sleeper->out().size() > 200; }, 20'000));
  sleeper->send(SIGSTOP);
  // A pause that is shorter than this costs nothing.
  const auto bound_ms = static_cast<int>(actors::limits::client_silence_us / 1000) + 5'000;
  CHECK(cluster.wait_idle(bound_ms) == "");
  CHECK(sleeper->out().size() < undisturbed.out.size());
  sleeper->send(SIGCONT);
  const Finished woken = sleeper->wait(120'000);
  CHECK(woken.exit_code == 0);
  CHECK(woken.out == undisturbed.out);
  CHECK(cluster.wait_idle() == "");
}

/// Connects, says something that is not TLS and goes.
void be_a_stranger(uint16_t port) {
  const sockaddr_in address = loopback(port);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  const std::string words = "GET / HTTP/1.1\r\n\r\n";
  CHECK(::send(fd, words.data(), words.size(), MSG_NOSIGNAL) > 0);
  ::close(fd);
}

TEST_CASE("vanish: strangers and clients that come and go break no connection") {
  TestCluster cluster;
  cluster.up();
  Reference reference(cluster.model_path());
  const auto request = request_of(some_tokens(200, 81), 8000);
  const auto wanted = reference.run(request);
  auto client = cluster.client();
  RunningRequest running(*client, request);
  REQUIRE(running.wait_tokens(20));
  for (int i = 0; i < 3; ++i) {
    for (const char* process : {"head", "prefill", "decode"}) be_a_stranger(cluster.port(process));
    CHECK(cluster.status()["workers"].size() == 2);
  }
  CHECK(running.tokens() < 8000);
  const auto got = running.result();
  check_same(got, wanted);
  CHECK(got.attempts == 1);
  CHECK(cluster.warnings().find("is gone") == std::string::npos);
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
  cluster.stop();
  CHECK(now_us() - before < 8'000'000);
  // `down` itself takes about a second; whoever streams or waits hears of it meanwhile.
  const Finished told = second->wait(1'000);
  CHECK_FALSE(told.timed_out);
  CHECK(told.exit_code != 0);
  CHECK(told.err.find("cluster test is going down") != std::string::npos);
}

}  // namespace
}  // namespace troupe::testing
