// Rotary position embedding from GGUF metadata, every scaling resolved.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "model/config.hpp"
#include "model/gguf.hpp"

namespace troupe::model {

/// Keys ARCHITECTURE.rope.*, and the tensor rope_freqs.weight where there is one: its elements
/// divide the inverse frequencies. Errors: corrupt, unsupported (a scaling other than linear).
Result<RopeConfig> read_rope(const GgufFile& file, const std::string& architecture,
                             uint32_t head_dim);

}  // namespace troupe::model
