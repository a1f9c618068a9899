// Limits of the manifest that only a whole cluster shows: each one acts.
#include <algorithm>
#include <csignal>

#include "tests/support/cluster_request.hpp"

namespace troupe::testing {
namespace {

TEST_CASE("limits: output_tokens_max, request_timeout and lease act as the manifest says") {
  ClusterSetup setup;
  setup.more =
      "limits: {output_tokens_max: 9000, request_timeout: 1500ms, lease: 600ms, "
      "connect_timeout: 2s}\ntransport: {page_lease: 5s}";
  TestCluster cluster(setup);
  cluster.up();
  auto client = cluster.client();
  const auto refused = RunningRequest(*client, request_of(some_tokens(9, 1), 9001)).end();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::invalid_argument);
  CHECK(refused.error().message().find("1 to 9000") != std::string::npos);

  auto endless = request_of(some_tokens(300, 2), 9000);
  endless.choices = 8;
  const TimeUs before = now_us();
  const auto late = RunningRequest(*client, endless).end();
  REQUIRE_FALSE(late.ok());
  CHECK(late.error().code == Code::timeout);
  CHECK(late.error().message().find("1500 ms") != std::string::npos);
  CHECK(now_us() - before < 2'500'000);
  CHECK(cluster.wait_idle() == "");

  const auto has_prefill = [&] {
    const auto view = client->view(std::chrono::seconds(5));
    REQUIRE(view.ok());
    return std::ranges::any_of(view->nodes,
                               [](const auto& node) { return node.name == "prefill"; });
  };
  CHECK(has_prefill());
  const pid_t prefill = cluster.pid("prefill");
  REQUIRE(::kill(prefill, SIGSTOP) == 0);
  CHECK(eventually([&] { return !has_prefill(); }, 2'500));
  REQUIRE(::kill(prefill, SIGCONT) == 0);
  CHECK(eventually(has_prefill, 5'000));
}

}  // namespace
}  // namespace troupe::testing
