// What processes count as a page of Prometheus metrics.
#include "gateway/cluster_metrics.hpp"

#include <doctest/doctest.h>

#include "actors/metrics.hpp"
#include "tests/gateway/strict_metrics.hpp"

namespace troupe::testing {
namespace {

TEST_CASE("metrics of two nodes: one head a family, durations in seconds, buckets that add up") {
  actors::Metrics metrics;
  metrics.add(v1::METRIC_DECODE_TOKENS, 7);
  metrics.set(v1::METRIC_CPU_US, 2'500'000);
  for (const int64_t us : {10, 100, 5'000, 90'000'000, 900'000'000}) {
    metrics.observe(v1::DISTRIBUTION_TTFT, us);
  }
  v1::MetricsUpdate update = metrics.changes_after(0, 1 << 20);
  update.set_incarnation(5);
  update.set_number(1);
  update.set_at_us(1);
  update.set_wall_us(1);
  actors::NodeMetrics node(5);
  REQUIRE(node.take(update) == actors::Taken::taken);
  gateway::MetricFamilies families;
  gateway::tell({{"a\"b", node}, {"c", node}}, families);
  const std::string page = families.page();
  const auto count = [&](const std::string& part) {
    size_t found = 0;
    for (size_t at = 0; (at = page.find(part, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  CHECK(count("# TYPE troupe_decode_tokens_total counter\n") == 1);
  CHECK(count("troupe_decode_tokens_total{node=\"a\\\"b\"} 7\n") == 1);
  CHECK(count("troupe_decode_tokens_total{node=\"c\"} 7\n") == 1);
  CHECK(count("{node=\"c\"} 2.5\n") >= 1);
  CHECK(count("troupe_ttft_seconds_bucket{node=\"c\",le=\"6.4e-05\"} 1\n") == 1);
  CHECK(count("troupe_ttft_seconds_bucket{node=\"c\",le=\"0.000128\"} 2\n") == 1);
  CHECK(count("troupe_ttft_seconds_bucket{node=\"c\",le=\"134.217728\"} 4\n") == 1);
  CHECK(count("troupe_ttft_seconds_bucket{node=\"c\",le=\"+Inf\"} 5\n") == 1);
  CHECK(count("troupe_ttft_seconds_count{node=\"c\"} 5\n") == 1);
  gateway::MetricFamilies none;
  gateway::tell({}, none);
  CHECK(none.page().empty());
  CHECK(StrictMetrics::mistake(page) == "");
}

}  // namespace
}  // namespace troupe::testing
