// Any process may die or stand still under load: no stream ends, no text changes, nothing leaks.
#include <algorithm>
#include <csignal>

#include "base/concat.hpp"
#include "tests/support/cluster_request.hpp"
#include "tests/support/recovery_run.hpp"

namespace troupe::testing {
namespace {

TEST_CASE("recovery: workers and the head stand still for a while under ten streams") {
  ClusterSetup setup;
  setup.decodes = 2;
  TestCluster cluster(setup);
  cluster.up();
  Reference reference(cluster.model_path());
  const RecoveryLoad load{10, 2, 600};
  check_recovery(run_fault(cluster, reference, {{"decode-1"}, Harm::stop, 5000}, load), 5'000);
  check_recovery(run_fault(cluster, reference, {{"head"}, Harm::stop, 3000}, load), 3'000);
  check_recovery(run_fault(cluster, reference, {{"prefill", "decode-2"}, Harm::kill, 0}, load),
                 5'000);
}

TEST_CASE("recovery: a worker that is told to stop or to drain cuts nothing") {
  ClusterSetup setup;
  setup.decodes = 2;
  TestCluster cluster(setup);
  cluster.up();
  Reference reference(cluster.model_path());
  // Long enough that streams are still running when the word to drain arrives on a busy machine.
  const auto request = request_of(some_tokens(200, 91), 3800);
  const auto wanted = reference.run(request);
  auto client = cluster.client();
  const auto run_on_both = [&] {
    std::vector<std::unique_ptr<RunningRequest>> running;
    for (int i = 0; i < 12; ++i) {
      running.push_back(std::make_unique<RunningRequest>(*client, request));
    }
    for (const auto& one : running) REQUIRE(one->wait_tokens(20));
    return running;
  };
  auto running = run_on_both();
  // Where the client gets no turn on a busy machine, it may see beginnings when all is said.
  const auto is_far = [](const auto& one) { return one->tokens() > 1500; };
  for (int again = 0; again < 10 && std::ranges::any_of(running, is_far); ++again) {
    for (const auto& one : running) check_same(one->result(), wanted);
    running = run_on_both();
  }
  SUBCASE("SIGTERM") {
    const uint64_t before = cluster.incarnation("decode-1");
    REQUIRE(::kill(cluster.pid("decode-1"), SIGTERM) == 0);
    for (const auto& one : running) check_same(one->result(), wanted);
    CHECK(cluster.is_back("decode-1", before));
    CHECK(cluster.warnings().find("decode worker decode-1 is gone") == std::string::npos);
  }
  SUBCASE("drain") {
    REQUIRE(client->drain("decode-1", std::chrono::seconds(5)).ok());
    CHECK(eventually([&] { return cluster.worker("decode-1")["running"] == 0; }, 5'000));
    const Json told = cluster.json({"drain", "decode-1"});
    CHECK(told["drained"] == true);
    CHECK(told["still_running"] == 0);
    const Json drained = cluster.worker("decode-1");
    CHECK(drained["running"] == 0);
    CHECK(drained["draining"] == true);
    uint32_t moved = 0;
    for (const auto& one : running) {
      const auto got = one->result();
      check_same(got, wanted);
      CHECK(got.decode_worker == "decode-2");
      moved += got.attempts > 1 ? 1 : 0;
    }
    CHECK(moved > 0);
    CHECK(RunningRequest(*client, request_of(some_tokens(99, 1), 5)).result().decode_worker ==
          "decode-2");
    const auto view = client->view(std::chrono::seconds(5));
    REQUIRE(view.ok());
    for (const auto& node : view->nodes) {
      CHECK(node.health == (node.name == "decode-1" ? "draining" : "ready"));
    }
    const Json nobody = cluster.json({"drain", "decode-7"}, 1)["error"];
    CHECK(nobody["code"] == "not_found");
    CHECK(nobody["hint"].get<std::string>().find("decode-2") != std::string::npos);
    CHECK(cluster.json({"drain", "head"}, 1)["error"]["code"] == "failed_precondition");
  }
}

}  // namespace
}  // namespace troupe::testing
