// What a gateway counts of itself, for its page of metrics. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "gateway/metric_families.hpp"
#include "gateway/shape.hpp"

namespace troupe::gateway {

/// Durations in the buckets of a metrics page.
class Spread {
 public:
  static constexpr std::array<double, 15> bounds_s = {
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
  void add(double seconds);
  void tell(MetricLabels labels, MetricFamilies& families) const;

 private:
  std::array<uint64_t, bounds_s.size() + 1> counts_{};
  uint64_t count_ = 0;
  double sum_ = 0;
};

/// How long the stages of generations took; of one tenant and route.
struct StageTimes {
  Spread ttft, itl, queue, prefill, transfer, decode;
};

class Counts {
 public:
  /// `route` is one of the gateway's own words, never what a client wrote.
  void reply(const std::string& route, int status, double seconds);
  /// Where the times of a tenant's generations on a route go; stays valid.
  StageTimes& stages(const std::string& tenant, const std::string& route);
  void add(Spread& spread, double seconds);
  /// The stages that the cast tells of when a generation ended.
  void ended(StageTimes& stages, const actors::GenerateResult& result);
  void usage(const std::string& tenant, const Usage& usage);
  void cancelled();
  void unknown_fields(const std::vector<std::string>& names);
  void begin();
  void end();
  /// Microseconds of the gateway's own work on a request, before the cast got it.
  void parsed(double seconds);

  void tell(MetricFamilies& families) const;

 private:
  void tell_stages(MetricFamilies& families) const;
  /// A tenant as the metrics call it.
  const std::string& told(const std::string& tenant);

  mutable std::mutex mutex_;
  std::set<std::string> tenants_;
  std::map<std::pair<std::string, std::string>, StageTimes> stages_;
  std::map<std::pair<std::string, int>, uint64_t> replies_;
  std::map<std::string, Spread> durations_;
  std::map<std::string, Usage> usage_;
  std::map<std::string, uint64_t> unknown_;
  Spread parse_;
  uint64_t cancelled_ = 0;
  int64_t running_ = 0;
};

}  // namespace troupe::gateway
