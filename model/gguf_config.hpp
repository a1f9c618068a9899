// The configuration of a model from GGUF metadata.
#pragma once

#include "base/result.hpp"
#include "model/config.hpp"
#include "model/family.hpp"
#include "model/gguf.hpp"

namespace troupe::model {

/// The family of "general.architecture", or of those that share it the one that the file's experts
/// tell. Errors: corrupt, unsupported (with those that are known).
Result<Family> gguf_family(const GgufFile& file);

/// Every number is checked: not zero, within model/limits.hpp, divisible where it has to be.
/// `tied_embedding` says whether output.weight is absent; shapes are checked later, by
/// read_weights. Errors: unsupported (a scaling, a variant), corrupt, exhausted.
Result<ModelConfig> read_config(const GgufFile& file, const Family& family);

}  // namespace troupe::model
