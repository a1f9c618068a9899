// What a monitor knows of a cluster: its nodes with rates and percentiles, and its newest requests
// put together from what each node says of them. Filled by a monitor or from a recording.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/histogram.hpp"
#include "actors/metrics_subscriber.hpp"
#include "schemas/cluster.pb.h"
#include "schemas/metrics.pb.h"

namespace troupe::cli {

namespace limits {
/// Requests that are kept; beyond it the oldest that ended goes, or the oldest.
inline constexpr size_t monitored_requests_max = 1024;
/// Rates are over this time, percentiles over the next.
inline constexpr TimeUs rate_window_us = 5'000'000;
inline constexpr TimeUs percentile_window_us = 60'000'000;
/// A node that was not heard for this long is shown as silent.
inline constexpr int64_t node_silence_us = 3'000'000;
}  // namespace limits

/// One process, and what it said lately.
class MonitoredNode {
 public:
  explicit MonitoredNode(v1::NodeInfo node) : info(std::move(node)), metrics(info.incarnation()) {}

  actors::Taken take(const v1::MetricsUpdate& update, int64_t wall_us);

  [[nodiscard]] uint64_t value(v1::Metric metric) const { return metrics.value(metric); }
  /// Growth per second; nothing until two updates came.
  [[nodiscard]] std::optional<double> rate(v1::Metric metric) const;
  /// What was counted in the last minute; everything if it was watched for less.
  [[nodiscard]] actors::Histogram recent(v1::Distribution distribution) const;
  [[nodiscard]] bool has_role(const char* role) const;
  /// Since it was last heard; nothing if it never was.
  [[nodiscard]] std::optional<int64_t> silence_us(int64_t wall_us) const;

  v1::NodeInfo info;
  actors::NodeMetrics metrics;

 private:
  struct Counts {
    TimeUs at_us;
    std::array<uint64_t, v1::Metric_ARRAYSIZE> values;
  };
  struct Spreads {
    TimeUs at_us;
    actors::Histogram ttft;
    actors::Histogram itl;
  };
  int64_t heard_wall_us_ = 0;
  std::deque<Counts> counts_;    ///< about one a second over the window
  std::deque<Spreads> spreads_;  ///< about one every ten seconds
};

/// A request as all nodes together tell it.
struct MonitoredRequest {
  uint64_t id = 0;
  v1::RequestTimeline told;  ///< without its stages
  /// When each stage was reached, on the wall clock; 0: not, or not yet.
  std::array<int64_t, v1::Stage_ARRAYSIZE> stages{};
  bool lost = false;  ///< it ran on a process that is gone, and nothing was heard since

  [[nodiscard]] bool is_over() const { return lost || !told.finish().empty(); }
  [[nodiscard]] int64_t at(v1::Stage stage) const { return stages[stage]; }
  /// The first and the last stage that it reached.
  [[nodiscard]] int64_t begin_us() const;
  [[nodiscard]] int64_t end_us() const;
  /// From the first stage to the first token; nothing before it.
  [[nodiscard]] std::optional<int64_t> ttft_us() const;
  /// Output tokens per second after the first token.
  [[nodiscard]] std::optional<double> tokens_per_s(int64_t wall_us) const;
  /// "prefill", "decode", "done: stop" and so on.
  [[nodiscard]] std::string state() const;
};

class MonitorModel {
 public:
  explicit MonitorModel(std::string cluster = {}) : cluster_(std::move(cluster)) {}

  void take_members(const v1::Members& members, int64_t wall_us);
  /// `node` is the name; the update of a process that is not a member is stale.
  actors::Taken take_update(const std::string& node, const v1::MetricsUpdate& update,
                            int64_t wall_us);

  [[nodiscard]] const std::string& cluster() const { return cluster_; }
  /// By name.
  [[nodiscard]] const std::map<std::string, MonitoredNode>& nodes() const { return nodes_; }
  /// Newest first.
  [[nodiscard]] std::vector<MonitoredRequest> requests() const;
  /// The wall clock of the last thing that was taken; 0: nothing was.
  [[nodiscard]] int64_t wall_us() const { return wall_us_; }
  /// When the directory last said who is there; 0: never.
  [[nodiscard]] int64_t members_wall_us() const { return members_wall_us_; }

  // --- sums over all nodes --------------------------------------------------------------------
  [[nodiscard]] uint64_t total(v1::Metric metric) const;
  [[nodiscard]] double total_rate(v1::Metric metric) const;
  [[nodiscard]] actors::Histogram recent(v1::Distribution distribution) const;

 private:
  /// What one process says of a request.
  struct Fragment {
    uint64_t incarnation = 0;
    v1::RequestTimeline told;
    std::array<int64_t, v1::Stage_ARRAYSIZE> stages{};
  };
  struct Entry {
    std::map<std::string, Fragment> fragments;  ///< by node
    uint64_t age = 0;
  };

  void take_timeline(const MonitoredNode& node, const v1::RequestTimeline& told);
  void make_room();
  [[nodiscard]] MonitoredRequest merge(uint64_t id, const Entry& entry) const;
  [[nodiscard]] bool is_there(const std::string& node, uint64_t incarnation) const;

  std::string cluster_;
  int64_t wall_us_ = 0;
  int64_t members_wall_us_ = 0;
  std::map<std::string, MonitoredNode> nodes_;
  std::unordered_map<uint64_t, Entry> requests_;
  uint64_t last_age_ = 0;
};

}  // namespace troupe::cli
