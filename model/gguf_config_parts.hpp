// The parts of the reader of GGUF's configuration, apart so that each fits a page. Used by
// gguf_config*.cpp only.
#pragma once

#include "base/result.hpp"
#include "model/config.hpp"
#include "model/family.hpp"
#include "model/gguf_keys.hpp"

namespace troupe::model {

/// Sets `latent`, head_dim and the scale; gives the rotated elements of a head.
Result<uint32_t> read_gguf_latent(const GgufKeys& keys, ModelConfig& config);
/// Sets `experts`.
Status read_gguf_experts(const GgufKeys& keys, const Family& family, ModelConfig& config);
/// Sets `layers`.
Status read_gguf_layers(const GgufKeys& keys, const Family& family, ModelConfig& config);

}  // namespace troupe::model
