#include "actors/metrics.hpp"

#include <algorithm>

namespace troupe::actors {

void Metrics::add(v1::Metric metric, uint64_t amount) {
  if (amount == 0) return;
  const std::lock_guard lock(mutex_);
  values_[metric].value += amount;
  values_[metric].changed = ++last_change_;
}

void Metrics::set(v1::Metric metric, uint64_t value) {
  const std::lock_guard lock(mutex_);
  if (values_[metric].value == value) return;
  values_[metric].value = value;
  values_[metric].changed = ++last_change_;
}

void Metrics::observe(v1::Distribution distribution, TimeUs duration_us, uint64_t times) {
  if (times == 0) return;
  const std::lock_guard lock(mutex_);
  Spread& spread = spreads_[distribution];
  spread.histogram.add(static_cast<uint64_t>(std::max<TimeUs>(duration_us, 0)), times);
  spread.changed = ++last_change_;
}

uint64_t Metrics::value(v1::Metric metric) const {
  const std::lock_guard lock(mutex_);
  return values_[metric].value;
}

Histogram Metrics::distribution(v1::Distribution distribution) const {
  const std::lock_guard lock(mutex_);
  return spreads_[distribution].histogram;
}

uint64_t Metrics::last_change() const {
  const std::lock_guard lock(mutex_);
  return last_change_;
}

Metrics::Timeline& Metrics::timeline(uint64_t request_id) {
  const auto found = timelines_.find(request_id);
  if (found != timelines_.end()) return found->second;
  if (timelines_.size() >= timelines_max_) make_room();
  Timeline& added = timelines_[request_id];
  added.told.set_request_id(request_id);
  ages_.push_back(request_id);
  return added;
}

void Metrics::make_room() {
  auto oldest = std::find_if(ages_.begin(), ages_.end(), [this](uint64_t id) {
    return !timelines_.at(id).told.finish().empty();
  });
  if (oldest == ages_.end()) oldest = ages_.begin();
  timelines_.erase(*oldest);
  ages_.erase(oldest);
}

std::deque<Metrics::Change> Metrics::sorted_changes(uint64_t after) const {
  std::deque<Change> changes;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].changed > after) changes.push_back({values_[i].changed, Change::Kind::value, i});
  }
  for (size_t i = 0; i < spreads_.size(); ++i) {
    if (spreads_[i].changed > after) {
      changes.push_back({spreads_[i].changed, Change::Kind::distribution, i});
    }
  }
  for (const auto& [id, entry] : timelines_) {
    if (entry.changed > after) changes.push_back({entry.changed, Change::Kind::request, id});
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.number < b.number; });
  return changes;
}

void Metrics::append(v1::MetricsUpdate& update, const Change& change) const {
  switch (change.kind) {
    case Change::Kind::value: {
      v1::MetricValue* told = update.add_values();
      told->set_metric(static_cast<v1::Metric>(change.id));
      told->set_value(values_[change.id].value);
      return;
    }
    case Change::Kind::distribution:
      *update.add_distributions() =
          to_wire(static_cast<v1::Distribution>(change.id), spreads_[change.id].histogram);
      return;
    case Change::Kind::request:
      *update.add_requests() = timelines_.at(change.id).told;
      return;
  }
}

v1::MetricsUpdate Metrics::changes_after(uint64_t after, size_t bytes_max) const {
  const std::lock_guard lock(mutex_);
  v1::MetricsUpdate update;
  update.set_after(after);
  update.set_last(last_change_);
  size_t bytes = 0;
  for (const Change& change : sorted_changes(after)) {
    v1::MetricsUpdate piece;
    append(piece, change);
    const bool is_first = bytes == 0;
    bytes += piece.ByteSizeLong();
    if (bytes > bytes_max && !is_first) {
      update.set_last(change.number - 1);
      break;
    }
    update.MergeFrom(piece);
  }
  return update;
}

void reach(v1::RequestTimeline& timeline, v1::Stage stage, TimeUs at) {
  if (reached(timeline, stage) != 0) return;
  v1::StageTime* added = timeline.add_stages();
  added->set_stage(stage);
  added->set_at_us(at);
}

TimeUs reached(const v1::RequestTimeline& timeline, v1::Stage stage) {
  for (const v1::StageTime& entry : timeline.stages()) {
    if (entry.stage() == stage) return entry.at_us();
  }
  return 0;
}

v1::DistributionState to_wire(v1::Distribution distribution, const Histogram& histogram) {
  v1::DistributionState wire;
  wire.set_distribution(distribution);
  wire.set_sum_us(histogram.sum_us());
  wire.set_max_us(histogram.max_us());
  for (uint32_t i = 0; i < Histogram::num_buckets; ++i) {
    if (histogram.count(i) == 0) continue;
    wire.add_bucket(i);
    wire.add_count(histogram.count(i));
  }
  return wire;
}

bool from_wire(const v1::DistributionState& wire, Histogram& histogram) {
  if (wire.bucket_size() != wire.count_size()) return false;
  histogram = {};
  int64_t last = -1;
  for (int i = 0; i < wire.bucket_size(); ++i) {
    const uint32_t bucket = wire.bucket(i);
    if (bucket >= Histogram::num_buckets || int64_t{bucket} <= last || wire.count(i) == 0) {
      return false;
    }
    last = bucket;
    histogram.set(bucket, wire.count(i));
  }
  histogram.set_totals(wire.sum_us(), wire.max_us());
  return true;
}

}  // namespace troupe::actors
