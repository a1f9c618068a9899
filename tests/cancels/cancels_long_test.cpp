// Hundreds of requests at once and a thousand cancels at any moment: those that are not cancelled
// are not disturbed, and every page comes back.
#include <algorithm>
#include <random>

#include "base/concat.hpp"
#include "tests/support/cluster_request.hpp"

namespace troupe::testing {
namespace {

constexpr size_t num_prompts = 24;

actors::GenerateRequest request_number(size_t i) {
  return mixed_request(i, 67);
}

struct Wanted {
  std::vector<actors::GenerateResult> results;
  explicit Wanted(const std::string& model_path) {
    Reference reference(model_path);
    for (size_t i = 0; i < num_prompts; ++i) results.push_back(reference.run(request_number(i)));
  }
};

/// What a cancel that came too late, in time, or not at all must lead to.
void check_end(RunningRequest& request, const actors::GenerateResult& wanted, bool was_cancelled) {
  const auto ended = request.end(180'000);
  INFO("ended with: ", ended.ok() ? "" : ended.error().message());
  if (ended.ok()) {
    CHECK(same_bits(ended->choices.at(0), wanted.choices.at(0)));
  } else {
    CHECK(was_cancelled);
    CHECK(ended.error().code == Code::cancelled);
  }
}

TEST_CASE("cancels: 300 requests at once, a third of them cancelled, four rounds") {
  ClusterSetup setup;
  setup.decodes = 2;
  TestCluster cluster(setup);
  cluster.up();
  const Wanted wanted(cluster.model_path());
  auto client = cluster.client();
  std::mt19937_64 random(77);
  for (int round = 0; round < 4; ++round) {
    CAPTURE(round);
    std::vector<std::unique_ptr<RunningRequest>> running;
    for (size_t i = 0; i < 300; ++i) {
      running.push_back(std::make_unique<RunningRequest>(*client, request_number(i % num_prompts)));
    }
    for (size_t i = 0; i < 300; i += 3) {
      ::poll(nullptr, 0, static_cast<int>(random() % 20));
      running[i]->cancel();
    }
    for (size_t i = 0; i < 300; ++i) {
      CAPTURE(i);
      check_end(*running[i], wanted.results[i % num_prompts], i % 3 == 0);
    }
    CHECK(cluster.wait_idle(10'000) == "");
  }
}

TEST_CASE("cancels: a thousand at random moments, eight requests at a time") {
  TestCluster cluster;
  cluster.up();
  const Wanted wanted(cluster.model_path());
  auto client = cluster.client();
  std::mt19937_64 random(78);
  size_t cancelled = 0;
  for (size_t batch = 0; batch < 125; ++batch) {
    CAPTURE(batch);
    std::vector<std::unique_ptr<RunningRequest>> running;
    std::vector<size_t> order;
    for (size_t i = 0; i < 8; ++i) {
      running.push_back(
          std::make_unique<RunningRequest>(*client, request_number((batch * 8 + i) % num_prompts)));
      order.push_back(i);
    }
    std::ranges::shuffle(order, random);
    for (const size_t i : order) {
      ::poll(nullptr, 0, static_cast<int>(random() % 12));
      running[i]->cancel();
    }
    for (size_t i = 0; i < 8; ++i) {
      check_end(*running[i], wanted.results[(batch * 8 + i) % num_prompts], true);
    }
    cancelled += running.size();
  }
  CHECK(cancelled == 1000);
  CHECK(cluster.wait_idle(10'000) == "");
  const auto after = RunningRequest(*client, request_number(5)).result();
  check_same(after, wanted.results[5]);
}

TEST_CASE("cancels: a decode worker without room keeps no page of a prefill worker for long") {
  ClusterSetup setup;
  setup.kv_memory = "8MiB";
  TestCluster cluster(setup);
  cluster.up();
  Reference reference(cluster.model_path());
  const Json decode = cluster.worker("decode");
  const size_t tokens = decode["blocks_total"].get<size_t>() * 64;
  // Each of them wants most of the worker's pages, so that one runs and the others wait.
  const auto length = static_cast<uint32_t>(std::min<size_t>(tokens * 7 / 10, 15'000) - 900);
  auto client = cluster.client();
  std::vector<actors::GenerateRequest> requests;
  std::vector<std::unique_ptr<RunningRequest>> running;
  for (size_t i = 0; i < 4; ++i) {
    requests.push_back(request_of(some_tokens(900, 300 + i), length, 0.0f, i));
    running.push_back(std::make_unique<RunningRequest>(*client, requests.back()));
  }
  const auto is_free = [&] {
    const Json prefill = cluster.worker("prefill");
    return prefill["blocks_free"] == prefill["blocks_total"];
  };
  REQUIRE(eventually([&] { return cluster.worker("decode")["running"] > 0; }, 10'000));
  CHECK(eventually(is_free, 5'000));
  for (size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    check_same(running[i]->result(180'000), reference.run(requests[i]));
  }
  CHECK(cluster.wait_idle(10'000) == "");
}

}  // namespace
}  // namespace troupe::testing
