// Counts durations in buckets that grow with the duration: eight per power of two, so a percentile
// is known to an eighth. The same buckets everywhere, so that histograms can be added and
// subtracted.
#pragma once

#include <array>
#include <cstdint>

namespace troupe::actors {

class Histogram {
 public:
  /// Up to 2^36 us (19 hours); what is longer counts in the last bucket.
  static constexpr uint32_t num_buckets = 272;

  /// The bucket that holds a duration, and the shortest duration that a bucket holds.
  [[nodiscard]] static uint32_t bucket_of(uint64_t us);
  [[nodiscard]] static uint64_t lower_us(uint32_t bucket);

  void add(uint64_t us, uint64_t times = 1);
  /// Sets a bucket to what somebody else counted; the sum and the longest come with set_totals().
  void set(uint32_t bucket, uint64_t count);
  void set_totals(uint64_t sum_us, uint64_t max_us);
  void add(const Histogram& other);
  /// What was counted since `earlier`, an earlier state of the same histogram. The longest stays.
  [[nodiscard]] Histogram since(const Histogram& earlier) const;

  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] uint64_t count(uint32_t bucket) const { return counts_[bucket]; }
  [[nodiscard]] uint64_t sum_us() const { return sum_us_; }
  [[nodiscard]] uint64_t max_us() const { return max_us_; }
  /// The duration below which the share `q` of all lies, 0 <= q <= 1; 0 when nothing was counted.
  [[nodiscard]] double percentile_us(double q) const;

 private:
  std::array<uint64_t, num_buckets> counts_{};
  uint64_t count_ = 0;
  uint64_t sum_us_ = 0;
  uint64_t max_us_ = 0;
};

}  // namespace troupe::actors
