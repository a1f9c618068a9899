// Published quantised checkpoints: a weight stands there in parts (codes, scales, zero points), and
// becomes one tensor whose rows are put together when they are read, so that nothing is held twice.
//
// FP8 (finegrained_fp8, DeepSeek: X.weight in F8_E4M3 with X.weight_scale_inv, one scale per block;
// compressed-tensors: X.weight_scale, one per tensor or row, also for I8), GPTQ int4 (X.qweight,
// X.qzeros, X.scales, X.g_idx), AWQ int4 in its GEMM order, and MXFP4 as GPT-OSS has it (X_blocks,
// X_scales). Sources: the loaders of the transformers, AutoGPTQ and AutoAWQ projects.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "model/json.hpp"
#include "model/tensor_table.hpp"

namespace troupe::model {

/// X_blocks and X_scales become the tensor X + this: [expert, out, in], while the X of checkpoints
/// that are not quantised is [expert, in, out].
inline constexpr std::string_view rows_are_outputs = ".rows";

/// Converts what `config` ("quantization_config" of config.json) says; without one nothing is done.
/// Scales of activations and of the KV cache are left out of the table: neither is stored in 8
/// bits floating here. Errors: unsupported (a method, with those that are read), corrupt (parts
/// that do not fit one another).
Status convert_quantized(const Json& config, TensorTable& table);

}  // namespace troupe::model
