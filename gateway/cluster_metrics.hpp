// What every process of the cluster counts, as lines of a page of Prometheus metrics.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "actors/metrics_subscriber.hpp"
#include "actors/monitor.hpp"

namespace troupe::gateway {

/// The lines of some nodes, by their names: each family once, with the label "node". Durations in
/// powers of two from 64 us to 134 s.
std::string metrics_page(const std::map<std::string, actors::NodeMetrics>& nodes);

/// Attached to the cluster as long as it lives.
class ClusterMetrics {
 public:
  /// Errors: failed_precondition (certificates).
  static Result<std::unique_ptr<ClusterMetrics>> attach(const actors::ClientOptions& options);

  [[nodiscard]] std::string page() const;

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
