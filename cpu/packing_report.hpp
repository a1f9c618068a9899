// What packing the weights of a model did, for the log: progress, speed, and which types were
// converted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "cpu/cpu_backend.hpp"
#include "model/tensor.hpp"

namespace troupe::cpu {

class PackingReport {
 public:
  /// `total_bytes`: what all matrices will take.
  PackingReport(uint64_t total_bytes, ComputeMode mode)
      : total_bytes_(total_bytes), mode_(mode), started_us_(now_us()) {}

  /// A matrix was packed. Logs how far packing is, at most every few seconds.
  void add(const model::Tensor& tensor, uint64_t packed_bytes);

  /// Logs time, speed and conversions.
  void finish() const;

  /// "Q4_K computed as Q4_1: 1.2 GiB become 1.3 GiB; ..."; empty where nothing was converted.
  [[nodiscard]] std::string conversions() const;

 private:
  struct Amount {
    uint64_t stored = 0;
    uint64_t packed = 0;
  };

  uint64_t total_bytes_;
  ComputeMode mode_;
  TimeUs started_us_;
  TimeUs told_us_ = 0;  ///< after the start
  uint64_t stored_bytes_ = 0;
  uint64_t packed_bytes_ = 0;
  std::map<std::pair<std::string, std::string>, Amount> converted_;
};

/// Errors: exhausted, with both numbers, when `bytes` of packed weights are more than what is left.
/// Logs what they will take. Nothing is known of a machine that does not tell.
Status check_weights_fit(uint64_t bytes);

}  // namespace troupe::cpu
