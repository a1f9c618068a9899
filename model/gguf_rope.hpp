// Rotary position embedding from GGUF metadata, every scaling resolved.
#pragma once

#include "base/result.hpp"
#include "model/config.hpp"
#include "model/family.hpp"
#include "model/gguf_keys.hpp"

namespace troupe::model {

/// Keys ARCHITECTURE.rope.*, the tensor rope_freqs.weight, whose elements divide the inverse
/// frequencies, and longrope's rope_factors_*.weight. `rotated`: elements of a head, 0: as the file
/// says. Sets `rope`, `local_rope` and with latent attention the scale. Errors: corrupt,
/// unsupported (a scaling).
Status read_gguf_rope(const GgufKeys& keys, const Family& family, uint32_t rotated,
                      ModelConfig& config);

}  // namespace troupe::model
