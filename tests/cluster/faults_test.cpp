// kill -9 in the middle: each request ends with exactly what an undisturbed run gives.
#include "tests/support/cluster_request.hpp"

namespace troupe::testing {
namespace {

TEST_CASE("faults: the prefill worker is killed in the middle of a prompt") {
  ClusterSetup setup;
  setup.more = "limits: {chunk_tokens: 32}";
  TestCluster cluster(setup);
  cluster.up();
  const auto request = request_of(some_tokens(9000, 3), 60);
  const auto second = request_of(some_tokens(700, 4), 60);
  Reference reference(cluster.model_path());
  const auto wanted = reference.run(request);
  const auto wanted_second = reference.run(second);

  auto client = cluster.client();
  RunningRequest running(*client, request);
  RunningRequest other(*client, second);
  const auto is_mid_prefill = [&] {
    const auto view = client->view(std::chrono::seconds(5));
    if (!view.ok()) return false;
    for (const auto& worker : view->workers) {
      if (worker.name == "prefill") return worker.prefill_tokens > 500;
    }
    return false;
  };
  REQUIRE(eventually(is_mid_prefill, 20'000));
  CHECK(running.tokens() == 0);
  cluster.kill("prefill");
  check_same(running.result(), wanted);
  check_same(other.result(), wanted_second);

  CHECK(cluster.is_back("prefill", 1));
  CHECK(cluster.wait_idle(15'000) == "");
  // The new incarnation prefills again.
  const auto third = request_of(some_tokens(400, 5), 20);
  const auto got = RunningRequest(*client, third).result();
  check_same(got, reference.run(third));
  CHECK(got.prefill_worker == "prefill");
  CHECK(got.blocks_moved > 0);
}

/// The decode worker with the most running sequences, as the router knows them. A load is told
/// every so often: right after a start the router may have heard of none, or still count them at
/// prefill.
std::string busiest_decode(actors::Client& client) {
  std::string name;
  const auto is_told = [&] {
    const auto view = client.view(std::chrono::seconds(5));
    if (!view.ok()) return false;
    uint32_t most = 0;
    for (const auto& worker : view->workers) {
      if (!worker.name.starts_with("decode") || worker.running <= most) continue;
      most = worker.running;
      name = worker.name;
    }
    return most > 0;
  };
  REQUIRE(eventually(is_told, 10'000));
  return name;
}

TEST_CASE("faults: the decode worker is killed in mid-stream") {
  ClusterSetup setup;
  SUBCASE("it is the only one: the request waits for its next incarnation") {}
  SUBCASE("there is another: the request moves") {
    setup.decodes = 2;
  }
  TestCluster cluster(setup);
  cluster.up();
  Reference reference(cluster.model_path());
  std::vector<actors::GenerateRequest> requests;
  std::vector<actors::GenerateResult> wanted;
  for (size_t i = 0; i < 4; ++i) {
    requests.push_back(
        request_of(some_tokens(150 + 40 * i, 20 + i), 6000, i % 2 == 0 ? 1.0f : 0.0f, i));
  }
  requests[3].choices = 3;
  requests[3].sampling.temperature = 1.0f;
  requests[3].sampling.max_tokens = 600;
  for (const auto& request : requests) wanted.push_back(reference.run(request));

  auto client = cluster.client();
  std::vector<std::unique_ptr<RunningRequest>> running;
  for (const auto& request : requests) {
    running.push_back(std::make_unique<RunningRequest>(*client, request));
  }
  for (const auto& request : running) REQUIRE(request->wait_tokens(20));
  const std::string victim = busiest_decode(*client);
  const uint64_t before = cluster.incarnation(victim);
  std::vector<bool> is_young;  // far from its end when the worker dies
  for (const auto& request : running) is_young.push_back(request->tokens() < 4000);
  cluster.kill(victim);
  uint32_t moved = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    CAPTURE(i);
    const auto got = running[i]->result();
    check_same(got, wanted[i]);
    moved += got.attempts > 1 ? 1 : 0;
    if (setup.decodes == 1 && i < 3 && is_young[i]) CHECK(got.attempts > 1);
  }
  CHECK(moved > 0);
  CHECK(cluster.is_back(victim, before));
  CHECK(cluster.wait_idle(15'000) == "");
}

TEST_CASE("faults: the head is killed in mid-stream; streams go on and new requests work after") {
  TestCluster cluster;
  cluster.up();
  Reference reference(cluster.model_path());
  const auto request = request_of(some_tokens(200, 31), 6000);
  const auto wanted = reference.run(request);
  auto client = cluster.client();
  RunningRequest running(*client, request);
  REQUIRE(running.wait_tokens(20));
  cluster.kill("head");
  const uint32_t held = running.tokens();
  CHECK(held < 6000);
  const auto got = running.result();
  check_same(got, wanted);
  CHECK(got.attempts == 1);

  CHECK(cluster.is_back("head", 1));
  const auto second = request_of(some_tokens(300, 32), 40);
  const auto answer = RunningRequest(*client, second).result();
  check_same(answer, reference.run(second));
  // A new client finds the cluster as well, and the workers are known to the new router.
  CHECK(cluster.wait_idle(15'000) == "");
  const auto third = request_of(some_tokens(310, 33), 40);
  auto late = cluster.client();
  check_same(RunningRequest(*late, third).result(), reference.run(third));
}

}  // namespace
}  // namespace troupe::testing
