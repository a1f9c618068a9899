// Which experts a token passes and with what weights, from the router's logits (docs/numerics.md
// section 6): plain code, the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.hpp"

namespace troupe::cpu {

struct ChosenExpert {
  uint32_t expert = 0;
  float weight = 0;
};

/// logits[config.count] -> out[config.per_token], ascending by expert. `choice_bias`: [count], or
/// none. Ties go to the lower expert and the lower group. A NaN gives weights of NaN.
void route_experts(const model::ExpertsConfig& config, const float* logits,
                   const std::vector<float>& choice_bias, ChosenExpert* out);

}  // namespace troupe::cpu
