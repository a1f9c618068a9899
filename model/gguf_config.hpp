// The configuration of a model from GGUF metadata.
#pragma once

#include "base/result.hpp"
#include "model/config.hpp"
#include "model/gguf.hpp"

namespace troupe::model {

/// Every number is checked: not zero, within model/limits.hpp, divisible where it has to be.
/// `tied_embedding` says whether output.weight is absent; shapes are checked later, by
/// read_weights. Errors: unsupported (architecture, scaling, experts), corrupt, exhausted.
Result<ModelConfig> read_config(const GgufFile& file);

/// "llama": for error messages.
const char* supported_architectures();

}  // namespace troupe::model
