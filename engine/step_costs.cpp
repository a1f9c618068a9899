#include "engine/step_costs.hpp"

#include <algorithm>

namespace troupe::engine {

namespace {
/// What was seen counts for a third after so many steps.
constexpr double memory_steps = 300;
/// Steps of one size count for at most so many: the sizes that are rare matter as well.
constexpr double weight_max = 20;
/// Other work on the machine makes steps longer, nothing makes them shorter: a time below the
/// estimate moves it much, one above it a little, and one far above it counts as twice as long.
constexpr double rate_down = 0.3, rate_up = 0.05, outlier = 2.0;
/// Observations that the assumed share counts for.
constexpr double assumed_observations = 2;
constexpr double share_min = 0.02, share_max = 1.0;
}  // namespace

void StepCosts::record(uint32_t tokens, int64_t us) {
  if (us <= 0 || tokens == 0 || tokens > tokens_max) return;
  const auto took = static_cast<double>(us);
  for (Size& size : sizes_) size.weight *= 1.0 - 1.0 / memory_steps;
  Size& size = sizes_[tokens];
  if (size.weight < 0.5) {
    size = {took, 1.0};
  } else {
    const double change = std::min(took, outlier * size.us) - size.us;
    size.us += (change < 0 ? rate_down : rate_up) * change;
    size.weight = std::min(weight_max, size.weight + 1.0);
  }
  fit();
}

/// A line through the sizes, as far as there are several.
void StepCosts::fit() {
  double weight = 0, x = 0, y = 0, xx = 0, xy = 0, evidence = 0;
  for (uint32_t tokens = 1; tokens <= tokens_max; ++tokens) {
    const Size& size = sizes_[tokens];
    weight += size.weight;
    x += size.weight * tokens;
    y += size.weight * size.us;
    xx += size.weight * tokens * tokens;
    xy += size.weight * tokens * size.us;
    if (tokens > 1) evidence += size.weight;
  }
  const double mean_x = x / weight, mean_y = y / weight;
  const double variance = xx / weight - mean_x * mean_x;
  share_ = assumed_share;
  if (variance < 0.01) return;
  const double slope = (xy / weight - mean_x * mean_y) / variance;
  const double one = mean_y - slope * (mean_x - 1.0);
  const double seen = one <= 0 ? share_max : std::clamp(slope / one, share_min, share_max);
  share_ =
      (seen * evidence + assumed_share * assumed_observations) / (evidence + assumed_observations);
}

}  // namespace troupe::engine
