// The configuration of a model from config.json, in the spelling of transformers 5
// ("rope_parameters") and in the older one ("rope_theta", "rope_scaling").
#pragma once

#include "base/result.hpp"
#include "model/config.hpp"
#include "model/family.hpp"
#include "model/json.hpp"

namespace troupe::model {

/// The family that "model_type" names. Errors: corrupt, unsupported (with those that are known).
Result<const Family*> family_of_config(const Json& config);

/// Every number is checked: type, range of model/limits.hpp, and against the others (heads, groups
/// of experts, layers). Shapes are checked later, by read_checkpoint_weights.
/// Errors: corrupt, unsupported, exhausted; each names the key, its value and what would be right.
Result<ModelConfig> read_config(const Json& config, const Family& family);

}  // namespace troupe::model
