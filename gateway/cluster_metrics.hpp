// What every process of the cluster counts, for the page of metrics.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "actors/metrics_subscriber.hpp"
#include "actors/monitor.hpp"
#include "gateway/metric_families.hpp"

namespace troupe::gateway {

/// Adds what some nodes count, by their names: each family once, with the label "node". Durations
/// in powers of two from 64 us to 134 s.
void tell(const std::map<std::string, actors::NodeMetrics>& nodes, MetricFamilies& families);

/// Attached to the cluster as long as it lives.
class ClusterMetrics {
 public:
  /// Errors: failed_precondition (certificates).
  static Result<std::unique_ptr<ClusterMetrics>> attach(const actors::ClientOptions& options);

  void tell(MetricFamilies& families) const;

 private:
  ClusterMetrics() = default;
  void take_members(const v1::Members& members);
  actors::Taken take(const v1::NodeInfo& node, const v1::MetricsUpdate& update);

  mutable std::mutex mutex_;
  std::map<std::string, actors::NodeMetrics> nodes_;
  /// Last: it ends first, and with it the calls.
  std::unique_ptr<actors::Monitor> monitor_;
};

}  // namespace troupe::gateway
