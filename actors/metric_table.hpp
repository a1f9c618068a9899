// What each metric is called, in which unit it counts, and what it means.
#pragma once

#include <span>
#include <string>

#include "schemas/metrics.pb.h"

namespace troupe::actors {

/// A counter only grows within one incarnation; a gauge goes up and down.
enum class MetricKind : uint8_t { counter, gauge };

struct MetricInfo {
  v1::Metric metric;
  MetricKind kind;
  /// With its unit, e.g. "prefill_tokens". Those that end in "_seconds" are kept in microseconds.
  const char* name;
  const char* help;
};

struct DistributionInfo {
  v1::Distribution distribution;
  const char* name;  ///< e.g. "ttft_seconds"; kept in microseconds
  const char* help;
};

/// All of them, in the order of their numbers, from 1 on.
std::span<const MetricInfo> metric_table();
std::span<const DistributionInfo> distribution_table();

const MetricInfo& info(v1::Metric metric);
const DistributionInfo& info(v1::Distribution distribution);
/// The factor from the number that is kept to the unit of the name.
double scale(v1::Metric metric);
/// As a metrics page shows it: "troupe_prefill_tokens_total".
std::string exported_name(v1::Metric metric);
std::string exported_name(v1::Distribution distribution);

/// "received", "first_token" and so on.
const char* name(v1::Stage stage);

}  // namespace troupe::actors
