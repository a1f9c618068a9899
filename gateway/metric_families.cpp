#include "gateway/metric_families.hpp"

#include <prometheus/text_serializer.h>

#include <utility>

namespace troupe::gateway {

void MetricFamilies::begin(const std::string& name, const std::string& help,
                           prometheus::MetricType type) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  families_.push_back(std::move(family));
}

void MetricFamilies::counter(const std::string& name, const std::string& help) {
  begin(name, help, prometheus::MetricType::Counter);
}

void MetricFamilies::gauge(const std::string& name, const std::string& help) {
  begin(name, help, prometheus::MetricType::Gauge);
}

void MetricFamilies::histogram(const std::string& name, const std::string& help) {
  begin(name, help, prometheus::MetricType::Histogram);
}

void MetricFamilies::add(MetricLabels labels, double value) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = value;
  metric.gauge.value = value;
  families_.back().metric.push_back(std::move(metric));
}

void MetricFamilies::add(MetricLabels labels, const std::vector<Bucket>& buckets, uint64_t count,
                         double sum_s) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  metric.histogram.sample_count = count;
  metric.histogram.sample_sum = sum_s;
  for (const Bucket& bucket : buckets) {
    metric.histogram.bucket.push_back({bucket.below, bucket.bound_s});
  }
  families_.back().metric.push_back(std::move(metric));
}

std::string MetricFamilies::page() const {
  return prometheus::TextSerializer().Serialize(families_);
}

}  // namespace troupe::gateway
