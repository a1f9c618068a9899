#include "engine/step_costs.hpp"

#include <algorithm>

namespace troupe::engine {

namespace {
/// After so many steps an old one counts for a third.
constexpr double memory_steps = 200;
/// Larger steps cost by other laws (a kernel takes over, attention grows).
constexpr uint32_t tokens_max = 64;
/// A step that took this much longer than its like was interrupted; it counts as that long.
constexpr double outlier = 2.0;
constexpr double share_min = 0.02, share_max = 1.0;
}  // namespace

void StepCosts::record(uint32_t tokens, int64_t us) {
  if (us <= 0 || tokens == 0 || tokens > tokens_max) return;
  double y = static_cast<double>(us);
  if (weight_ > 8) {
    const double one = y_ / (weight_ + share_ * (x_ - weight_));
    y = std::min(y, outlier * one * of(tokens));
  }
  const double x = tokens;
  const double keep = 1.0 - 1.0 / memory_steps;
  weight_ = weight_ * keep + 1.0;
  x_ = x_ * keep + x;
  y_ = y_ * keep + y;
  xx_ = xx_ * keep + x * x;
  xy_ = xy_ * keep + x * y;
  fit();
}

void StepCosts::fit() {
  const double mean_x = x_ / weight_, mean_y = y_ / weight_;
  const double variance = xx_ / weight_ - mean_x * mean_x;
  // Steps of nearly one size tell nothing of the slope: what was known of it stays.
  if (weight_ < 8 || variance < 0.2) return;
  const double slope = (xy_ / weight_ - mean_x * mean_y) / variance;
  const double one = mean_y - slope * (mean_x - 1.0);
  if (one <= 0) {
    share_ = share_max;
    return;
  }
  share_ = std::clamp(slope / one, share_min, share_max);
}

}  // namespace troupe::engine
