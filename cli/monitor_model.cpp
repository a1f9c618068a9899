#include "cli/monitor_model.hpp"

#include <algorithm>
#include <set>

namespace troupe::cli {
namespace {

constexpr TimeUs counts_spacing_us = 900'000;
constexpr TimeUs spreads_spacing_us = 9'000'000;

/// Keeps one entry from before the window, so that the window is covered.
template <class Entries>
void drop_old(Entries& entries, TimeUs now, TimeUs window_us) {
  while (entries.size() > 1 && now - entries[1].at_us >= window_us) entries.pop_front();
}

}  // namespace

actors::Taken MonitoredNode::take(const v1::MetricsUpdate& update, int64_t wall_us) {
  const actors::Taken taken = metrics.take(update);
  if (taken != actors::Taken::taken) return taken;
  heard_wall_us_ = wall_us;
  const TimeUs now = metrics.at_us();
  if (counts_.empty() || now - counts_.back().at_us >= counts_spacing_us) {
    Counts& added = counts_.emplace_back(Counts{now, {}});
    for (int i = 1; i < v1::Metric_ARRAYSIZE; ++i) {
      added.values[static_cast<size_t>(i)] = metrics.value(static_cast<v1::Metric>(i));
    }
    drop_old(counts_, now, limits::rate_window_us);
  }
  if (spreads_.empty() || now - spreads_.back().at_us >= spreads_spacing_us) {
    spreads_.push_back({now, metrics.distribution(v1::DISTRIBUTION_TTFT),
                        metrics.distribution(v1::DISTRIBUTION_ITL)});
    drop_old(spreads_, now, limits::percentile_window_us);
  }
  return taken;
}

std::optional<double> MonitoredNode::rate(v1::Metric metric) const {
  if (counts_.empty() || metrics.at_us() <= counts_.front().at_us) return std::nullopt;
  const uint64_t before = counts_.front().values[metric];
  const uint64_t now = metrics.value(metric);
  const auto seconds = static_cast<double>(metrics.at_us() - counts_.front().at_us) / 1e6;
  return static_cast<double>(now - std::min(before, now)) / seconds;
}

actors::Histogram MonitoredNode::recent(v1::Distribution distribution) const {
  const actors::Histogram& all = metrics.distribution(distribution);
  const bool whole_minute =
      !spreads_.empty() && metrics.at_us() - spreads_.front().at_us >= limits::percentile_window_us;
  if (!whole_minute) return all;
  if (distribution == v1::DISTRIBUTION_TTFT) return all.since(spreads_.front().ttft);
  if (distribution == v1::DISTRIBUTION_ITL) return all.since(spreads_.front().itl);
  return all;
}

bool MonitoredNode::has_role(const char* role) const {
  return std::find(info.roles().begin(), info.roles().end(), role) != info.roles().end();
}

std::optional<int64_t> MonitoredNode::silence_us(int64_t wall_us) const {
  if (heard_wall_us_ == 0) return std::nullopt;
  return std::max<int64_t>(0, wall_us - heard_wall_us_);
}

void MonitorModel::take_members(const v1::Members& members, int64_t wall_us) {
  wall_us_ = members_wall_us_ = wall_us;
  std::set<std::string> there;
  for (const v1::NodeInfo& info : members.nodes()) {
    there.insert(info.name());
    const auto found = nodes_.find(info.name());
    if (found == nodes_.end()) {
      nodes_.emplace(info.name(), MonitoredNode(info));
    } else if (found->second.info.incarnation() == info.incarnation()) {
      found->second.info = info;
    } else {
      found->second = MonitoredNode(info);
    }
  }
  std::erase_if(nodes_, [&there](const auto& entry) { return !there.contains(entry.first); });
}

actors::Taken MonitorModel::take_update(const std::string& node, const v1::MetricsUpdate& update,
                                        int64_t wall_us) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return actors::Taken::stale_incarnation;
  const actors::Taken taken = found->second.take(update, wall_us);
  if (taken != actors::Taken::taken) return taken;
  wall_us_ = wall_us;
  for (const v1::RequestTimeline& told : update.requests()) take_timeline(found->second, told);
  return taken;
}

uint64_t MonitorModel::total(v1::Metric metric) const {
  uint64_t sum = 0;
  for (const auto& [name, node] : nodes_) sum += node.value(metric);
  return sum;
}

double MonitorModel::total_rate(v1::Metric metric) const {
  double sum = 0;
  for (const auto& [name, node] : nodes_) sum += node.rate(metric).value_or(0);
  return sum;
}

actors::Histogram MonitorModel::recent(v1::Distribution distribution) const {
  actors::Histogram sum;
  for (const auto& [name, node] : nodes_) sum.add(node.recent(distribution));
  return sum;
}

}  // namespace troupe::cli
