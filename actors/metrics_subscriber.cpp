#include "actors/metrics_subscriber.hpp"

#include "actors/metrics.hpp"

namespace troupe::actors {

const char* name(Taken taken) {
  switch (taken) {
    case Taken::taken:
      return "taken";
    case Taken::duplicate:
      return "duplicate";
    case Taken::gap:
      return "gap";
    case Taken::stale_incarnation:
      return "stale incarnation";
    case Taken::corrupt:
      return "corrupt";
  }
  return "unknown";
}

Taken NodeMetrics::take(const v1::MetricsUpdate& update) {
  if (update.incarnation() != incarnation_) return Taken::stale_incarnation;
  if (update.after() > update.last() || !is_time(update.at_us()) || !is_time(update.wall_us())) {
    return Taken::corrupt;
  }
  if (update.after() > last_change_) {
    last_change_ = 0;
    return Taken::gap;
  }
  if (update.last() < last_change_ || update.at_us() < at_us_) return Taken::duplicate;
  std::array<Histogram, v1::Distribution_ARRAYSIZE> spreads = spreads_;
  for (const v1::DistributionState& told : update.distributions()) {
    // A metric of a later release is no reason to lose the others.
    if (!v1::Distribution_IsValid(told.distribution())) continue;
    if (!from_wire(told, spreads[told.distribution()])) return Taken::corrupt;
  }
  spreads_ = spreads;
  for (const v1::MetricValue& told : update.values()) {
    if (v1::Metric_IsValid(told.metric())) values_[told.metric()] = told.value();
  }
  last_change_ = update.last();
  at_us_ = update.at_us();
  wall_us_ = update.wall_us();
  return Taken::taken;
}

}  // namespace troupe::actors
