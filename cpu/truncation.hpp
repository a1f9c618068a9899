// The last links of the sampling chain: top-k, top-p, min-p, typical, and the walk that draws
// (docs/numerics.md section 7).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/sampling.hpp"

namespace troupe::cpu {

/// The id that `uniform` in [0, 1) draws. `weights`: [vocab], e^(scaled logit - maximum), so the
/// largest is 1; `total`: their sum. Sums run along the order (weight descending, id ascending);
/// every truncation is relative to what the one before it kept.
int32_t draw_token(const std::vector<float>& weights, float total,
                   const engine::SamplingParams& params, float uniform);

}  // namespace troupe::cpu
