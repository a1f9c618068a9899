// The output depends on the request alone, whatever the cluster does meanwhile.
#include "tests/support/cluster_request.hpp"
#include "tests/support/temporary_folder.hpp"

namespace troupe::testing {
namespace {

/// Every step of all that ran agrees with itself; a log that was altered does not.
void check_logs(TestCluster& cluster, const std::string& steps) {
  const TemporaryFolder altered;
  const Json same = cluster.json({"diff-steps", steps, steps});
  CHECK(same["equal"] == true);
  CHECK(same["compared"] > 1000);
  CHECK(same["only_a"] == 0);
  std::string log;
  for (const auto& entry : std::filesystem::directory_iterator(steps)) {
    if (entry.path().filename().string().starts_with("decode")) log = read_text(entry.path());
  }
  const size_t draw = log.find("\ndraw ");
  REQUIRE(draw != std::string::npos);
  char& last = log[log.find('\n', draw + 1) - 1];
  last = last == '0' ? '1' : '0';
  altered.write("decode.steps", log);
  const Json differs = cluster.json({"diff-steps", steps, altered.path()}, 1);
  CHECK(differs["first"]["kind"] == "draw");
  CHECK(cluster.run({"diff-steps", steps, "/nowhere"}).exit_code == 2);
}

TEST_CASE("invariance: over a cluster") {
  const TemporaryFolder steps;
  ClusterSetup setup;
  setup.environment = {{"TROUPE_STEP_LOG", steps.path()}};
  TestCluster cluster(setup);
  cluster.up();
  auto client = cluster.client();
  const auto run = [&](const actors::GenerateRequest& request) {
    return RunningRequest(*client, request).result();
  };

  {
    INFO("choice i of n = 4 equals choice i of n = 8, and the choices differ");
    auto request = request_of(some_tokens(150, 41), 40);
    request.choices = 4;
    const auto four = run(request);
    request.choices = 8;
    const auto eight = run(request);
    REQUIRE(four.choices.size() == 4);
    REQUIRE(eight.choices.size() == 8);
    std::set<std::vector<int32_t>> different;
    for (size_t i = 0; i < 8; ++i) {
      CAPTURE(i);
      if (i < 4) check_same(four.choices[i], eight.choices[i]);
      different.insert(eight.choices[i].token_ids);
    }
    CHECK(different.size() == 8);
  }
  for (const float temperature : {0.0f, 1.0f}) {
    CAPTURE(temperature);
    INFO("cold = cached prefix; drafts off = on; alone = among 8 others");
    const auto request =
        request_of(some_tokens(300, 42 + static_cast<uint64_t>(temperature)), 80, temperature, 9);
    const auto cold = run(request);
    CHECK(cold.cached_tokens == 0);
    CHECK(cold.blocks_moved > 0);
    const auto cached = run(request);
    CHECK(cached.cached_tokens >= 256);
    check_same(cached, cold);
    auto undrafted = request;
    undrafted.drafts = false;
    check_same(run(undrafted), cold);
    std::vector<std::unique_ptr<RunningRequest>> others;
    for (uint64_t i = 0; i < 8; ++i) {
      others.push_back(std::make_unique<RunningRequest>(
          *client, request_of(some_tokens(40 + 30 * i, 60 + i), 120, 1.0f, i)));
    }
    check_same(run(request), cold);
    for (const auto& other : others) CHECK(other->result().choices[0].token_ids.size() == 120);
  }
  CHECK(cluster.wait_idle() == "");
  cluster.stop();
  check_logs(cluster, steps.path());
}

}  // namespace
}  // namespace troupe::testing
