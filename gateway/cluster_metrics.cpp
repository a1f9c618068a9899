#include "gateway/cluster_metrics.hpp"

#include <set>
#include <utility>

#include "actors/metric_table.hpp"

namespace troupe::gateway {
namespace {

constexpr uint32_t interval_ms = 1000;
constexpr uint64_t first_bound_us = 64;
constexpr uint64_t last_bound_us = uint64_t{1} << 27;

void add(MetricLabels labels, const actors::Histogram& histogram, MetricFamilies& families) {
  std::vector<Bucket> buckets;
  uint64_t below = 0;
  uint32_t next = 0;
  for (uint64_t bound_us = first_bound_us; bound_us <= last_bound_us; bound_us *= 2) {
    while (next < actors::Histogram::num_buckets && actors::Histogram::lower_us(next) < bound_us) {
      below += histogram.count(next++);
    }
    buckets.push_back({static_cast<double>(bound_us) / 1e6, below});
  }
  families.add(std::move(labels), buckets, histogram.count(),
               static_cast<double>(histogram.sum_us()) / 1e6);
}

}  // namespace

void tell(const std::map<std::string, actors::NodeMetrics>& nodes, MetricFamilies& families) {
  if (nodes.empty()) return;
  for (const actors::MetricInfo& info : actors::metric_table()) {
    const std::string name = actors::exported_name(info.metric);
    if (info.kind == actors::MetricKind::counter) {
      families.counter(name, info.help);
    } else {
      families.gauge(name, info.help);
    }
    for (const auto& [node, metrics] : nodes) {
      families.add({{"node", node}},
                   static_cast<double>(metrics.value(info.metric)) * actors::scale(info.metric));
    }
  }
  for (const actors::DistributionInfo& info : actors::distribution_table()) {
    families.histogram(actors::exported_name(info.distribution), info.help);
    for (const auto& [node, metrics] : nodes) {
      add({{"node", node}}, metrics.distribution(info.distribution), families);
    }
  }
}

Result<std::unique_ptr<ClusterMetrics>> ClusterMetrics::attach(
    const actors::ClientOptions& options) {
  std::unique_ptr<ClusterMetrics> metrics(new ClusterMetrics);
  actors::MonitorHandlers handlers;
  handlers.on_members = [raw = metrics.get()](const v1::Members& members) {
    raw->take_members(members);
  };
  handlers.on_update = [raw = metrics.get()](const v1::NodeInfo& node,
                                             const v1::MetricsUpdate& update) {
    return raw->take(node, update);
  };
  TROUPE_ASSIGN(metrics->monitor_,
                actors::Monitor::attach(options, interval_ms, std::move(handlers)));
  return metrics;
}

void ClusterMetrics::take_members(const v1::Members& members) {
  std::set<std::string> names;
  for (const v1::NodeInfo& node : members.nodes()) names.insert(node.name());
  const std::lock_guard lock(mutex_);
  std::erase_if(nodes_, [&](const auto& entry) { return !names.contains(entry.first); });
}

actors::Taken ClusterMetrics::take(const v1::NodeInfo& node, const v1::MetricsUpdate& update) {
  const std::lock_guard lock(mutex_);
  actors::NodeMetrics& known = nodes_[node.name()];
  if (known.incarnation() != node.incarnation()) {
    known = actors::NodeMetrics(node.incarnation());
  }
  return known.take(update);
}

void ClusterMetrics::tell(MetricFamilies& families) const {
  const std::lock_guard lock(mutex_);
  gateway::tell(nodes_, families);
}

}  // namespace troupe::gateway
