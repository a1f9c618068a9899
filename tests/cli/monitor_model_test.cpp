// What a monitor makes of what the nodes say: rates, percentiles, requests in one piece.
#include "cli/monitor_model.hpp"

#include <doctest/doctest.h>

#include <string>

#include "cli/monitor_json.hpp"
#include "tests/cli/monitored_cluster.hpp"

using namespace troupe;
using namespace troupe::cli;
using namespace troupe::testing;

TEST_CASE("a request is put together from what three nodes say, each with its own clock") {
  FakeCluster cluster;
  MonitorModel model("test");
  cluster.tell(model);
  const int64_t began = cluster.wall_us;
  cluster.whole_request(7);
  cluster.tell(model);
  const auto requests = model.requests();
  REQUIRE(requests.size() == 1);
  const MonitoredRequest& request = requests[0];
  CHECK(request.id == 7);
  CHECK(request.state() == "stop");
  CHECK(request.is_over());
  CHECK(request.begin_us() == began);
  CHECK(request.ttft_us() == 800 + 200 + 1'000 + 20'000 + 30'000 + 1'500 + 500 + 9'000);
  CHECK(request.end_us() == began + 63'000 + 300'000);
  CHECK(request.at(v1::STAGE_PREFILL_DONE) - request.at(v1::STAGE_PREFILL_STARTED) == 50'000);
  CHECK(request.at(v1::STAGE_TRANSFER_DONE) - request.at(v1::STAGE_TRANSFER_STARTED) == 31'500);
  CHECK(request.told.prompt_tokens() == 300);
  CHECK(request.told.output_tokens() == 32);
  CHECK(request.told.prefill_worker() == "prefill");
  CHECK(request.told.decode_worker() == "decode");
  CHECK(request.told.prefill_chunks() == 2);
  CHECK(request.told.prompt_hash() == 0x1234567890abcdef);
  CHECK(*request.tokens_per_s(cluster.wall_us) == doctest::Approx(31 / 0.3));
}

TEST_CASE("the state of a request follows its stages") {
  FakeCluster cluster;
  MonitorModel model("test");
  cluster.tell(model);
  const auto state = [&] {
    cluster.tell(model, 1'000);
    return model.requests().at(0).state();
  };
  cluster.reach(cluster.head, 7, v1::STAGE_RECEIVED);
  CHECK(state() == "prepared");
  cluster.reach(cluster.head, 7, v1::STAGE_PLACED);
  CHECK(state() == "placed");
  cluster.reach(cluster.decode, 7, v1::STAGE_STARTED);
  CHECK(state() == "queued");
  cluster.reach(cluster.prefill, 7, v1::STAGE_PREFILL_STARTED);
  CHECK(state() == "prefill");
  cluster.reach(cluster.prefill, 7, v1::STAGE_PREFILL_DONE);
  cluster.reach(cluster.decode, 7, v1::STAGE_TRANSFER_STARTED);
  CHECK(state() == "transfer");
  cluster.reach(cluster.decode, 7, v1::STAGE_TRANSFER_DONE);
  cluster.reach(cluster.decode, 7, v1::STAGE_SCHEDULED);
  CHECK(state() == "prompt");
  cluster.reach(cluster.decode, 7, v1::STAGE_FIRST_TOKEN);
  CHECK(state() == "decode");
  CHECK_FALSE(model.requests().at(0).is_over());
}

TEST_CASE("the newest attempt counts, the first token stays") {
  FakeCluster cluster;
  MonitorModel model("test");
  cluster.tell(model);
  cluster.begin_request(7);
  cluster.tell(model);
  const auto ttft_us = model.requests().at(0).ttft_us();
  // Its worker dies and comes back as another incarnation.
  cluster.decode.info.set_incarnation(34);
  cluster.tell(model);
  CHECK(model.requests().at(0).state() == "lost");
  cluster.prefill.metrics.change_request(7, [&](v1::RequestTimeline& told) {
    told.set_attempt(2);
    told.set_output_tokens(20);
    told.set_choices(1);
    actors::reach(told, v1::STAGE_STARTED, cluster.prefill.clock(cluster.wall_us));
  });
  cluster.tell(model);
  const MonitoredRequest again = model.requests().at(0);
  CHECK(again.told.attempt() == 2);
  CHECK(again.told.decode_worker() == "prefill");
  CHECK(again.told.output_tokens() == 20);
  CHECK_FALSE(again.lost);
  CHECK(again.state() == "decode");
  CHECK(again.ttft_us() == ttft_us);
}

TEST_CASE("rates are over the last seconds, percentiles over the last minute") {
  FakeCluster cluster;
  MonitorModel model("test");
  cluster.tell(model);
  CHECK_FALSE(model.nodes().at("decode").rate(v1::METRIC_DECODE_TOKENS).has_value());
  for (int i = 0; i < 40; ++i) {
    cluster.decode.metrics.add(v1::METRIC_DECODE_TOKENS, 50);
    cluster.decode.metrics.observe(v1::DISTRIBUTION_ITL, 10'000, 50);
    cluster.tell(model);
  }
  CHECK(*model.nodes().at("decode").rate(v1::METRIC_DECODE_TOKENS) == doctest::Approx(100));
  CHECK(model.total_rate(v1::METRIC_DECODE_TOKENS) == doctest::Approx(100));
  CHECK(model.recent(v1::DISTRIBUTION_ITL).percentile_us(0.5) ==
        doctest::Approx(10'000).epsilon(0.13));
  for (int i = 0; i < 200; ++i) {
    cluster.decode.metrics.add(v1::METRIC_DECODE_TOKENS, 5);
    cluster.decode.metrics.observe(v1::DISTRIBUTION_ITL, 100'000, 5);
    cluster.tell(model);
  }
  CHECK(*model.nodes().at("decode").rate(v1::METRIC_DECODE_TOKENS) == doctest::Approx(10));
  CHECK(model.recent(v1::DISTRIBUTION_ITL).percentile_us(0.5) ==
        doctest::Approx(100'000).epsilon(0.13));
  CHECK(model.recent(v1::DISTRIBUTION_ITL).percentile_us(0.05) > 80'000);
}

TEST_CASE("a gap is told, and healed by everything") {
  FakeCluster cluster;
  MonitorModel model("test");
  cluster.tell(model);
  cluster.decode.metrics.add(v1::METRIC_STEPS, 5);
  (void)cluster.decode.update(cluster.wall_us);
  cluster.decode.metrics.add(v1::METRIC_DECODE_TOKENS, 3);
  cluster.wall_us += 1000;
  const auto taken =
      model.take_update("decode", cluster.decode.update(cluster.wall_us), cluster.wall_us);
  CHECK(taken == actors::Taken::gap);
  CHECK(model.total(v1::METRIC_DECODE_TOKENS) == 0);
  cluster.decode.told = 0;
  cluster.tell(model);
  CHECK(model.total(v1::METRIC_STEPS) == 5);
  CHECK(model.total(v1::METRIC_DECODE_TOKENS) == 3);
}

TEST_CASE("requests are bounded, and those that ended go first") {
  FakeCluster cluster;
  MonitorModel model("test");
  cluster.tell(model);
  cluster.begin_request(1);
  cluster.tell(model);
  for (uint64_t id = 2; id < 2 + limits::monitored_requests_max + 50; ++id) {
    cluster.head.metrics.change_request(id, [](v1::RequestTimeline& told) { told.set_attempt(1); });
    cluster.decode.metrics.change_request(id, [&](v1::RequestTimeline& told) {
      actors::reach(told, v1::STAGE_STARTED, cluster.decode.clock(cluster.wall_us));
      told.set_finish("length");
    });
    if (id % 100 == 0) cluster.tell(model);
  }
  cluster.tell(model);
  const auto requests = model.requests();
  CHECK(requests.size() <= limits::monitored_requests_max);
  CHECK(requests.back().id == 1);
}

TEST_CASE("processes that left are forgotten, strangers are not taken in") {
  FakeCluster cluster;
  MonitorModel model("test");
  cluster.tell(model);
  v1::Members fewer = cluster.members();
  fewer.mutable_nodes()->RemoveLast();
  model.take_members(fewer, cluster.wall_us + 1);
  CHECK(model.nodes().size() == 2);
  CHECK(model.take_update("decode", cluster.decode.update(cluster.wall_us), cluster.wall_us) ==
        actors::Taken::stale_incarnation);
}

TEST_CASE("as JSON: metrics by name, times in seconds, no prompt") {
  FakeCluster cluster;
  MonitorModel model("test");
  cluster.tell(model);
  cluster.whole_request(7);
  cluster.decode.metrics.add(v1::METRIC_DECODE_TOKENS, 32);
  cluster.decode.metrics.set(v1::METRIC_CPU_US, 1'500'000);
  cluster.decode.metrics.observe(v1::DISTRIBUTION_TTFT, 63'000);
  cluster.tell(model);
  const auto json = to_json(model);
  CHECK(json["cluster"] == "test");
  REQUIRE(json["nodes"].size() == 3);
  const auto& decode = json["nodes"][0];
  CHECK(decode["name"] == "decode");
  CHECK(decode["metrics"]["decode_tokens"] == 32);
  CHECK(decode["metrics"]["cpu_seconds"] == doctest::Approx(1.5));
  CHECK(decode["distributions"]["ttft_seconds"]["count"] == 1);
  CHECK(json["ttft_seconds"]["p50"].get<double>() == doctest::Approx(0.063).epsilon(0.13));
  REQUIRE(json["requests"].size() == 1);
  const auto& request = json["requests"][0];
  CHECK(request["id"] == "0000000000000007");
  CHECK(request["finish_reason"] == "stop");
  CHECK(request["stages"]["first_token"].get<double>() == doctest::Approx(0.063));
  CHECK(request["prompt_hash"] == "1234567890abcdef");
}
