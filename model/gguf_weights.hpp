// The weights of a model as views of a GGUF file's tensors.
#pragma once

#include "base/result.hpp"
#include "model/config.hpp"
#include "model/gguf.hpp"
#include "model/model.hpp"

namespace troupe::model {

/// Finds every tensor of the architecture and checks its type and shape; a tensor that the
/// architecture does not have is an error too, since ignoring it would give wrong text. Norms are
/// F32. Errors: corrupt (missing tensor, wrong shape), unsupported (type, unknown tensor).
Result<Weights> read_weights(const GgufFile& file, const ModelConfig& config);

}  // namespace troupe::model
