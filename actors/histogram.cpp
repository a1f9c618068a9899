#include "actors/histogram.hpp"

#include <algorithm>
#include <bit>

namespace troupe::actors {
namespace {

constexpr uint32_t per_octave = 8;

}  // namespace

uint32_t Histogram::bucket_of(uint64_t us) {
  if (us < per_octave) return static_cast<uint32_t>(us);
  const auto octave = static_cast<uint32_t>(std::bit_width(us)) - 4;
  const uint64_t bucket = per_octave + octave * per_octave + ((us >> octave) - per_octave);
  return static_cast<uint32_t>(std::min<uint64_t>(bucket, num_buckets - 1));
}

uint64_t Histogram::lower_us(uint32_t bucket) {
  if (bucket < per_octave) return bucket;
  const uint32_t octave = bucket / per_octave - 1;
  return uint64_t{per_octave + bucket % per_octave} << octave;
}

void Histogram::add(uint64_t us, uint64_t times) {
  counts_[bucket_of(us)] += times;
  count_ += times;
  sum_us_ += us * times;
  max_us_ = std::max(max_us_, us);
}

void Histogram::set(uint32_t bucket, uint64_t count) {
  count_ += count - counts_[bucket];
  counts_[bucket] = count;
}

void Histogram::set_totals(uint64_t sum_us, uint64_t max_us) {
  sum_us_ = sum_us;
  max_us_ = max_us;
}

void Histogram::add(const Histogram& other) {
  for (uint32_t i = 0; i < num_buckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_us_ += other.sum_us_;
  max_us_ = std::max(max_us_, other.max_us_);
}

Histogram Histogram::since(const Histogram& earlier) const {
  Histogram newer;
  for (uint32_t i = 0; i < num_buckets; ++i) {
    newer.counts_[i] = counts_[i] - std::min(counts_[i], earlier.counts_[i]);
    newer.count_ += newer.counts_[i];
  }
  newer.sum_us_ = sum_us_ - std::min(sum_us_, earlier.sum_us_);
  newer.max_us_ = max_us_;
  return newer;
}

double Histogram::percentile_us(double q) const {
  if (count_ == 0) return 0;
  const double wanted = std::clamp(q, 0.0, 1.0) * static_cast<double>(count_);
  double below = 0;
  for (uint32_t i = 0; i < num_buckets; ++i) {
    if (counts_[i] == 0) continue;
    const auto here = static_cast<double>(counts_[i]);
    if (below + here < wanted) {
      below += here;
      continue;
    }
    const auto lower = static_cast<double>(lower_us(i));
    const double width = i + 1 < num_buckets ? static_cast<double>(lower_us(i + 1)) - lower : 0;
    const double inside = lower + width * std::max(0.0, wanted - below) / here;
    return std::min(inside, static_cast<double>(std::max(max_us_, lower_us(i))));
  }
  return static_cast<double>(lower_us(num_buckets - 1));
}

}  // namespace troupe::actors
