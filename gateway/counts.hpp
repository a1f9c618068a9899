// What a gateway counts of itself, as a page of Prometheus metrics. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "gateway/shape.hpp"

namespace troupe::gateway {

/// Durations in the buckets of a metrics page.
class Spread {
 public:
  static constexpr std::array<double, 15> bounds_s = {
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
  void add(double seconds);
  /// The lines of one histogram.
  [[nodiscard]] std::string lines(const std::string& name, const std::string& labels) const;

 private:
  std::array<uint64_t, bounds_s.size() + 1> counts_{};
  uint64_t count_ = 0;
  double sum_ = 0;
};

/// A label's value as it stands between quotes.
std::string escaped_label(const std::string& value);
/// A value with all the digits that a long sum needs.
std::string metric_value(double value);
/// How many were at most a bound, in seconds.
struct Bucket {
  double bound_s = 0;
  uint64_t below = 0;
};
/// The lines of one histogram; `labels` as they stand between braces, maybe none.
std::string histogram_lines(const std::string& name, const std::string& labels,
                            const std::vector<Bucket>& buckets, uint64_t count, double sum_s);
/// "# HELP" and "# TYPE".
std::string metric_head(const std::string& name, const char* type, const std::string& help);

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

  [[nodiscard]] std::string page() const;

 private:
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
