// How many drafts pay: each is worth the chance that it comes true and costs its share of a step.
// Plain arithmetic on what acceptance.hpp and step_costs.hpp learned.
#pragma once

#include <cstdint>
#include <span>

#include "engine/step_costs.hpp"

namespace troupe::engine {

/// What the step has so far without the drafts in question: tokens to compute, and tokens that are
/// expected to come of them.
struct StepLoad {
  double tokens = 1;
  double expected = 1;
};

struct DraftChoice {
  uint32_t count = 0;   ///< drafts to verify; 0: they don't pay
  double expected = 0;  ///< tokens that are expected to come of them
  double gain = 1;      ///< speed with them, as a multiple of the speed without
};

/// Drafts must promise this much more speed: costs and chances are estimates.
inline constexpr double draft_gain_min = 1.02;

/// `chances[i]`: that draft i comes true, given that all before it did. Chooses the leading drafts
/// that make tokens per time largest.
inline DraftChoice choose_draft_count(std::span<const float> chances, const StepLoad& load,
                                      const StepCosts& costs) {
  DraftChoice best;
  const double plain = load.expected / costs.of(load.tokens);
  double reached = 1.0, expected = 0.0;
  for (uint32_t i = 0; i < chances.size(); ++i) {
    reached *= chances[i];
    expected += reached;
    const double speed = (load.expected + expected) / costs.of(load.tokens + i + 1.0);
    const double gain = speed / plain;
    if (gain >= draft_gain_min && gain > best.gain) best = {i + 1, expected, gain};
  }
  return best;
}

}  // namespace troupe::engine
