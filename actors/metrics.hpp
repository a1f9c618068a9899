// What one process measures of itself: values, distributions, and the timelines of the newest
// requests. Every change has a number, so that a watcher can ask for what is new since the last one
// that it has. Costs about as much as a lock that nobody else holds.
#pragma once

#include <array>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "actors/histogram.hpp"
#include "base/clock.hpp"
#include "schemas/metrics.pb.h"

namespace troupe::actors {

namespace limits {
/// Requests whose timelines a process keeps; beyond it the oldest that ended goes, or the oldest.
inline constexpr size_t timelines_max = 256;
}  // namespace limits

/// Thread-safe.
class Metrics {
 public:
  explicit Metrics(size_t timelines_max = limits::timelines_max) : timelines_max_(timelines_max) {}

  void add(v1::Metric metric, uint64_t amount = 1);
  /// For gauges, and for counters that somebody else counts.
  void set(v1::Metric metric, uint64_t value);
  void observe(v1::Distribution distribution, TimeUs duration_us, uint64_t times = 1);

  /// Calls `change` with the request's timeline, which is new if the request is.
  template <class Change>
  void change_request(uint64_t request_id, const Change& change) {
    const std::lock_guard lock(mutex_);
    Timeline& entry = timeline(request_id);
    change(entry.told);
    entry.changed = ++last_change_;
  }

  [[nodiscard]] uint64_t value(v1::Metric metric) const;
  [[nodiscard]] Histogram distribution(v1::Distribution distribution) const;
  [[nodiscard]] uint64_t last_change() const;

  /// The changes after number `after`, oldest first, as many as fit in about `bytes_max`: says in
  /// `last` up to which. incarnation, number and times are left to the caller.
  [[nodiscard]] v1::MetricsUpdate changes_after(uint64_t after, size_t bytes_max) const;

 private:
  struct Value {
    uint64_t value = 0;
    uint64_t changed = 0;  ///< number of its last change; 0: never
  };
  struct Spread {
    Histogram histogram;
    uint64_t changed = 0;
  };
  struct Timeline {
    v1::RequestTimeline told;
    uint64_t changed = 0;
  };
  /// Something that changed; of values and distributions the index, of requests the id.
  struct Change {
    uint64_t number;
    enum class Kind : uint8_t { value, distribution, request } kind;
    uint64_t id;
  };

  Timeline& timeline(uint64_t request_id);
  void make_room();
  [[nodiscard]] std::deque<Change> sorted_changes(uint64_t after) const;
  void append(v1::MetricsUpdate& update, const Change& change) const;

  const size_t timelines_max_;
  mutable std::mutex mutex_;
  uint64_t last_change_ = 0;
  std::array<Value, v1::Metric_ARRAYSIZE> values_{};
  std::array<Spread, v1::Distribution_ARRAYSIZE> spreads_{};
  std::unordered_map<uint64_t, Timeline> timelines_;
  std::deque<uint64_t> ages_;  ///< their ids, oldest first
};

/// Sets the time of a stage, once.
void reach(v1::RequestTimeline& timeline, v1::Stage stage, TimeUs at);
/// When the stage was reached; 0: not yet.
TimeUs reached(const v1::RequestTimeline& timeline, v1::Stage stage);

v1::DistributionState to_wire(v1::Distribution distribution, const Histogram& histogram);
/// False when the buckets are not those of a histogram: out of range, not rising, or uncounted.
bool from_wire(const v1::DistributionState& wire, Histogram& histogram);

}  // namespace troupe::actors
