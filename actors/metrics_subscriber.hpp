// The other end of a subscription: one node's metrics as a watcher has them, put together from
// numbered changes. What is missing is noticed and asked for again. No CAF.
#pragma once

#include <array>

#include "actors/histogram.hpp"
#include "base/clock.hpp"
#include "schemas/metrics.pb.h"

namespace troupe::actors {

namespace limits {
/// Times that are told lie between 0 and this (36,000 years); others are refused or ignored, so
/// that their differences can be told as well.
inline constexpr int64_t told_time_us_max = int64_t{1} << 60;
}  // namespace limits

inline bool is_time(int64_t us) {
  return us > 0 && us < limits::told_time_us_max;
}

/// What became of an update.
enum class Taken : uint8_t {
  taken,
  duplicate,          ///< everything in it was known
  gap,                ///< changes before it are missing: subscribe again
  stale_incarnation,  ///< of a process that is gone
  corrupt,            ///< it contradicts itself; nothing of it was taken
};
const char* name(Taken taken);

/// A node's values and distributions up to `last_change`.
class NodeMetrics {
 public:
  /// Begins with nothing of this incarnation.
  explicit NodeMetrics(uint64_t incarnation = 0) : incarnation_(incarnation) {}

  /// After a gap nothing is taken until everything comes again.
  Taken take(const v1::MetricsUpdate& update);

  [[nodiscard]] uint64_t incarnation() const { return incarnation_; }
  [[nodiscard]] uint64_t last_change() const { return last_change_; }
  [[nodiscard]] uint64_t value(v1::Metric metric) const { return values_[metric]; }
  [[nodiscard]] const Histogram& distribution(v1::Distribution d) const { return spreads_[d]; }
  /// The node's clock at its last update, and the wall clock then; 0: none came yet.
  [[nodiscard]] TimeUs at_us() const { return at_us_; }
  [[nodiscard]] int64_t wall_us() const { return wall_us_; }
  /// A time of the node's clock on the wall clock.
  [[nodiscard]] int64_t to_wall(TimeUs at) const { return wall_us_ + (at - at_us_); }

 private:
  uint64_t incarnation_;
  uint64_t last_change_ = 0;
  TimeUs at_us_ = 0;
  int64_t wall_us_ = 0;
  std::array<uint64_t, v1::Metric_ARRAYSIZE> values_{};
  std::array<Histogram, v1::Distribution_ARRAYSIZE> spreads_{};
};

}  // namespace troupe::actors
