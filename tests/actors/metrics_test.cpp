// What a process measures, how it is told, and that a watcher ends with the same numbers whatever
// is lost on the way.
#include "actors/metrics.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "actors/metric_table.hpp"
#include "actors/metrics_publisher.hpp"
#include "actors/metrics_subscriber.hpp"

using namespace troupe;
using namespace troupe::actors;

namespace {

v1::Subscribe every(uint32_t interval_ms) {
  v1::Subscribe subscribe;
  subscribe.set_interval_ms(interval_ms);
  return subscribe;
}

/// Changes something at random.
void stir(Metrics& metrics, std::mt19937_64& random) {
  const auto metric = static_cast<v1::Metric>(1 + random() % (v1::Metric_ARRAYSIZE - 1));
  const auto spread =
      static_cast<v1::Distribution>(1 + random() % (v1::Distribution_ARRAYSIZE - 1));
  switch (random() % 4) {
    case 0:
      return metrics.add(metric, random() % 100);
    case 1:
      return metrics.set(metric, random() % 100);
    case 2:
      return metrics.observe(spread, static_cast<TimeUs>(random() % (1u << (random() % 30))),
                             random() % 3);
    default:
      metrics.change_request(random() % 50, [&](v1::RequestTimeline& timeline) {
        timeline.set_output_tokens(timeline.output_tokens() + 1);
        if (random() % 8 == 0) timeline.set_finish("stop");
      });
  }
}

void check_equal(const NodeMetrics& seen, const Metrics& metrics) {
  for (const MetricInfo& row : metric_table()) {
    // A message counts once it was made, so it can't tell of itself.
    if (row.metric == v1::METRIC_UPDATES_SENT) continue;
    CHECK_MESSAGE(seen.value(row.metric) == metrics.value(row.metric), std::string(row.name));
  }
  for (const DistributionInfo& row : distribution_table()) {
    const Histogram wanted = metrics.distribution(row.distribution);
    const Histogram& got = seen.distribution(row.distribution);
    CHECK(got.count() == wanted.count());
    CHECK(got.sum_us() == wanted.sum_us());
    CHECK(got.max_us() == wanted.max_us());
    for (uint32_t i = 0; i < Histogram::num_buckets; ++i) CHECK(got.count(i) == wanted.count(i));
  }
}

}  // namespace

TEST_CASE("every duration lies in its bucket, and buckets are an eighth wide") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const uint64_t us = random() >> (28 + random() % 36);
    const uint32_t bucket = Histogram::bucket_of(us);
    REQUIRE(Histogram::lower_us(bucket) <= us);
    if (bucket + 1 < Histogram::num_buckets) {
      const uint64_t next = Histogram::lower_us(bucket + 1);
      REQUIRE(us < next);
      REQUIRE(next - Histogram::lower_us(bucket) <= std::max<uint64_t>(1, us / 8 + 1));
    }
  }
  CHECK(Histogram::bucket_of(UINT64_MAX) == Histogram::num_buckets - 1);
}

TEST_CASE("percentiles are within an eighth of the true ones") {
  std::mt19937_64 random(2);
  Histogram histogram;
  std::vector<uint64_t> all;
  for (int i = 0; i < 20000; ++i) {
    const uint64_t us = 100 + random() % 10000 * (random() % 10 == 0 ? 50 : 1);
    all.push_back(us);
    histogram.add(us);
  }
  std::sort(all.begin(), all.end());
  for (const double q : {0.01, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999}) {
    const auto truth = static_cast<double>(all[static_cast<size_t>(q * 19999)]);
    CHECK(histogram.percentile_us(q) == doctest::Approx(truth).epsilon(0.13));
  }
  CHECK(histogram.percentile_us(1.0) <= static_cast<double>(all.back()));
  CHECK(Histogram().percentile_us(0.5) == 0);
}

TEST_CASE("a histogram since an earlier state holds what came after it") {
  Histogram histogram;
  histogram.add(10, 5);
  const Histogram earlier = histogram;
  histogram.add(1000, 3);
  const Histogram newer = histogram.since(earlier);
  CHECK(newer.count() == 3);
  CHECK(newer.sum_us() == 3000);
  CHECK(newer.percentile_us(0.5) == doctest::Approx(1000).epsilon(0.13));
  Histogram both = earlier;
  both.add(newer);
  CHECK(both.count() == histogram.count());
  CHECK(both.sum_us() == histogram.sum_us());
}

TEST_CASE("each metric has one row with a name of its own") {
  std::set<std::string> names;
  for (size_t i = 0; i < metric_table().size(); ++i) {
    CHECK(metric_table()[i].metric == static_cast<v1::Metric>(i + 1));
    names.insert(exported_name(metric_table()[i].metric));
  }
  for (size_t i = 0; i < distribution_table().size(); ++i) {
    CHECK(distribution_table()[i].distribution == static_cast<v1::Distribution>(i + 1));
    names.insert(exported_name(distribution_table()[i].distribution));
  }
  CHECK(names.size() == metric_table().size() + distribution_table().size());
  CHECK(names.contains("troupe_prefill_tokens_total"));
  CHECK(names.contains("troupe_device_blocks"));
  CHECK(names.contains("troupe_cpu_seconds_total"));
  CHECK(names.contains("troupe_ttft_seconds"));
}

TEST_CASE("timelines are bounded: the oldest that ended goes first") {
  Metrics metrics(3);
  const auto nothing = [](v1::RequestTimeline&) {};
  for (const uint64_t id : {1, 2, 3}) metrics.change_request(id, nothing);
  metrics.change_request(2, [](v1::RequestTimeline& t) { t.set_finish("stop"); });
  metrics.change_request(4, nothing);
  metrics.change_request(5, nothing);
  std::set<uint64_t> kept;
  const v1::MetricsUpdate everything = metrics.changes_after(0, 1 << 20);
  for (const auto& told : everything.requests()) {
    kept.insert(told.request_id());
  }
  CHECK(kept == std::set<uint64_t>{3, 4, 5});
}

TEST_CASE("a stage is reached once") {
  v1::RequestTimeline timeline;
  CHECK(reached(timeline, v1::STAGE_PLACED) == 0);
  reach(timeline, v1::STAGE_PLACED, 10);
  reach(timeline, v1::STAGE_PLACED, 20);
  CHECK(reached(timeline, v1::STAGE_PLACED) == 10);
}

TEST_CASE("changes that do not fit into one message come in several, each once") {
  Metrics metrics;
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) stir(metrics, random);
  NodeMetrics seen(7);
  std::set<uint64_t> requests;
  uint64_t after = 0;
  int messages = 0;
  while (after < metrics.last_change()) {
    v1::MetricsUpdate update = metrics.changes_after(after, 300);
    REQUIRE(update.last() > after);
    update.set_incarnation(7);
    update.set_at_us(1 + messages);
    update.set_wall_us(1);
    REQUIRE(seen.take(update) == Taken::taken);
    for (const auto& told : update.requests()) CHECK(requests.insert(told.request_id()).second);
    after = update.last();
    ++messages;
  }
  CHECK(messages > 5);
  CHECK(requests.size() == 50);
  check_equal(seen, metrics);
}

TEST_CASE("a subscriber has the same numbers in the end, whatever is lost or doubled") {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    auto metrics = std::make_shared<Metrics>();
    MetricsPublisher publisher(metrics, 7);
    NodeMetrics seen(7);
    TimeUs now = 1;
    int gaps = 0;
    int silent_turns = 0;
    REQUIRE(publisher.on_subscribe(1, every(100), now).ok());
    const auto turn = [&](bool lossy) {
      for (int i = 0; i < 5; ++i) stir(*metrics, random);
      now += 100'000;
      // Whoever hears nothing subscribes again: four messages in a row may have been lost.
      if (++silent_turns > 3) REQUIRE(publisher.on_subscribe(1, every(100), now).ok());
      for (const auto& [key, update] : publisher.due(now, now)) {
        if (lossy && random() % 4 == 0) continue;
        silent_turns = 0;
        const int copies = lossy && random() % 4 == 0 ? 2 : 1;
        for (int copy = 0; copy < copies; ++copy) {
          if (seen.take(update) != Taken::gap) continue;
          ++gaps;
          REQUIRE(publisher.on_subscribe(1, every(100), now).ok());
        }
        publisher.on_ack(key, update.number(), now);
      }
    };
    for (int i = 0; i < 60; ++i) turn(true);
    for (int i = 0; i < 10; ++i) turn(false);
    CHECK(gaps > 0);
    check_equal(seen, *metrics);
  }
}

TEST_CASE("a subscriber that is stopped costs four messages, and hears everything once it wakes") {
  auto metrics = std::make_shared<Metrics>();
  MetricsPublisher publisher(metrics, 7);
  NodeMetrics seen(7);
  std::vector<v1::MetricsUpdate> inbox;
  std::mt19937_64 random(4);
  TimeUs now = 1;
  REQUIRE(publisher.on_subscribe(1, every(100), now).ok());
  for (int i = 0; i < 30; ++i) {
    for (int k = 0; k < 50; ++k) stir(*metrics, random);
    now += 100'000;
    for (auto& [key, update] : publisher.due(now, now)) inbox.push_back(update);
  }
  CHECK(inbox.size() == limits::updates_unacked_max);
  for (const auto& update : inbox) {
    CHECK(seen.take(update) == Taken::taken);
    publisher.on_ack(1, update.number(), now);
  }
  now += 100'000;
  const auto after = publisher.due(now, now);
  REQUIRE(after.size() == 1);
  CHECK(seen.take(after[0].second) == Taken::taken);
  check_equal(seen, *metrics);
}

TEST_CASE("a subscriber that stays silent is forgotten; more than sixteen are refused") {
  auto metrics = std::make_shared<Metrics>();
  MetricsPublisher publisher(metrics, 7);
  TimeUs now = 1;
  for (uint64_t key = 1; key <= limits::subscribers_max; ++key) {
    REQUIRE(publisher.on_subscribe(key, every(1000), now).ok());
  }
  const auto refused = publisher.on_subscribe(99, every(1000), now);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::exhausted);
  CHECK_FALSE(refused.error().hint.empty());
  CHECK(metrics->value(v1::METRIC_SUBSCRIBERS) == limits::subscribers_max);
  now += limits::subscriber_silence_us / 2;
  (void)publisher.due(now, now);
  publisher.on_ack(3, 1, now);
  now += limits::subscriber_silence_us / 2 + 1;
  (void)publisher.due(now, now);
  CHECK(publisher.num_subscribers() == 1);
  publisher.on_gone(3);
  CHECK(publisher.num_subscribers() == 0);
  CHECK(metrics->value(v1::METRIC_SUBSCRIBERS) == 0);
}

TEST_CASE("intervals are brought into their bounds") {
  MetricsPublisher publisher(std::make_shared<Metrics>(), 7);
  CHECK(*publisher.on_subscribe(1, every(0), 1) == limits::update_interval_ms_min);
  CHECK(*publisher.on_subscribe(2, every(4'000'000'000), 1) == limits::update_interval_ms_max);
  CHECK(*publisher.on_subscribe(3, every(250), 1) == 250);
  TimeUs now = 1;
  CHECK(publisher.due(now, now).size() == 3);
  for (const uint64_t key : {1, 2, 3}) publisher.on_ack(key, 1, now);
  now += 90'000;
  CHECK(publisher.is_due(now));
  CHECK(publisher.due(now, now).size() == 1);
  now += 130'000;
  CHECK(publisher.due(now, now).size() == 2);
  CHECK_FALSE(publisher.is_due(now));
}

TEST_CASE("updates that contradict themselves leave nothing behind") {
  const auto good = [] {
    v1::MetricsUpdate update;
    update.set_incarnation(7);
    update.set_last(5);
    update.set_at_us(1);
    update.set_wall_us(1);
    v1::MetricValue* value = update.add_values();
    value->set_metric(v1::METRIC_STEPS);
    value->set_value(3);
    return update;
  };
  const auto spoil = [&good](const std::vector<uint32_t>& buckets,
                             const std::vector<uint64_t>& counts) {
    v1::MetricsUpdate update = good();
    v1::DistributionState* told = update.add_distributions();
    told->set_distribution(v1::DISTRIBUTION_ITL);
    for (const uint32_t bucket : buckets) told->add_bucket(bucket);
    for (const uint64_t count : counts) told->add_count(count);
    return update;
  };
  NodeMetrics seen(7);
  CHECK(seen.take(spoil({3, 3}, {1, 1})) == Taken::corrupt);
  CHECK(seen.take(spoil({4, 3}, {1, 1})) == Taken::corrupt);
  CHECK(seen.take(spoil({Histogram::num_buckets}, {1})) == Taken::corrupt);
  CHECK(seen.take(spoil({3}, {1, 1})) == Taken::corrupt);
  CHECK(seen.take(spoil({3}, {0})) == Taken::corrupt);
  v1::MetricsUpdate backwards = good();
  backwards.set_after(6);
  CHECK(seen.take(backwards) == Taken::corrupt);
  v1::MetricsUpdate stranger = good();
  stranger.set_incarnation(8);
  CHECK(seen.take(stranger) == Taken::stale_incarnation);
  CHECK(seen.value(v1::METRIC_STEPS) == 0);
  CHECK(seen.last_change() == 0);
  CHECK(seen.take(good()) == Taken::taken);
  CHECK(seen.value(v1::METRIC_STEPS) == 3);
}
