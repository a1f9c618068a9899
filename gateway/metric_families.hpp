// A page of Prometheus metrics, put together from families (prometheus-cpp writes it).
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace troupe::gateway {

using MetricLabel = prometheus::ClientMetric::Label;
using MetricLabels = std::vector<MetricLabel>;

/// How many were at most a bound, in seconds.
struct Bucket {
  double bound_s = 0;
  uint64_t below = 0;
};

class MetricFamilies {
 public:
  /// Begins a family; what follows belongs to it. Its name ends in its unit.
  void counter(const std::string& name, const std::string& help);
  void gauge(const std::string& name, const std::string& help);
  void histogram(const std::string& name, const std::string& help);

  /// Of a counter or a gauge.
  void add(MetricLabels labels, double value);
  void add(MetricLabels labels, uint64_t value) {
    add(std::move(labels), static_cast<double>(value));
  }
  /// Of a histogram; `buckets` ascend, without the one that has no bound.
  void add(MetricLabels labels, const std::vector<Bucket>& buckets, uint64_t count, double sum_s);

  /// The page in Prometheus's text format 0.0.4.
  [[nodiscard]] std::string page() const;

 private:
  void begin(const std::string& name, const std::string& help, prometheus::MetricType type);

  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace troupe::gateway
