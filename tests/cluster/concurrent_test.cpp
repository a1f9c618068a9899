// Many requests at once, some of them cancelled: the others are not disturbed, and all blocks
// return.
#include <random>
#include <thread>

#include "tests/support/cluster_request.hpp"

namespace troupe::testing {
namespace {

constexpr size_t num_requests = 20;
constexpr size_t num_cancels = 6;

actors::GenerateRequest request_number(size_t i) {
  return mixed_request(i, 23);
}

TEST_CASE("concurrent: 20 requests with 6 cancels among them") {
  TestCluster cluster;
  cluster.up();
  Reference reference(cluster.model_path());
  std::vector<actors::GenerateResult> wanted;
  for (size_t i = 0; i < num_requests; ++i) wanted.push_back(reference.run(request_number(i)));

  auto client = cluster.client();
  std::mt19937_64 random(2024);
  std::vector<std::unique_ptr<RunningRequest>> running;
  for (size_t i = 0; i < num_requests; ++i) {
    actors::GenerateRequest request = request_number(i);
    // Those to be cancelled would go on for long: a cancel that is ignored is seen.
    if (i % 3 == 1 && i / 3 < num_cancels) request.sampling.max_tokens = 12'000;
    running.push_back(std::make_unique<RunningRequest>(*client, std::move(request)));
  }
  for (size_t n = 0; n < num_cancels; ++n) {
    ::poll(nullptr, 0, static_cast<int>(random() % 60));
    running[n * 3 + 1]->cancel();
  }
  for (size_t i = 0; i < num_requests; ++i) {
    CAPTURE(i);
    if (i % 3 == 1 && i / 3 < num_cancels) {
      const auto ended = running[i]->end();
      REQUIRE_FALSE(ended.ok());
      CHECK(ended.error().code == Code::cancelled);
    } else {
      check_same(running[i]->result(), wanted[i]);
    }
  }
  CHECK(cluster.wait_idle(5'000) == "");
}

}  // namespace
}  // namespace troupe::testing
