// How the simulated device draws: logits from a hash, then bias, penalties, mask and temperature.
// Truncation (top-k, top-p, min-p, typical) is the real backends' business.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/sampling.hpp"
#include "engine/step_plan.hpp"

namespace troupe::engine {

/// Logits that are a function of `state`: [vocab_size], within +-scale / 2.
std::vector<float> sim_logits(uint64_t state, uint32_t vocab_size, float scale);

/// ln(sum(exp(logits))).
float sim_log_sum_exp(const std::vector<float>& logits);

/// Draws the token of `position`. `prompt` and `output` are what precedes it.
Draw sim_draw(std::vector<float> logits, const SamplingParams& params, uint32_t position,
              std::span<const int32_t> prompt, std::span<const int32_t> output);

}  // namespace troupe::engine
