// Which stored types the backends compute in as they are, and into which of these the others are
// converted when weights are packed (docs/models.md, "Types").
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/tensor.hpp"

namespace troupe::model {

/// The type with a kernel that weights of `type` are computed in: itself for F32, F16, BF16, Q8_0,
/// Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS and MXFP4; BF16 for FP8; F32 for F64;
/// Q8_0 for the rest, integers with scales among them.
TensorType kernel_type(TensorType type);

/// `tensor`, or a view that converts its rows one by one to kernel_type(tensor.type), so that no
/// second copy of the weights is ever held. Codes and scales of TQ1_0 and TQ2_0 stay what they are;
/// other blocks are quantised from their values to the nearest of 255 steps.
Tensor as_kernel_type(const Tensor& tensor);

/// One Q8_0 block of 34 bytes from 32 values. Where `step` is not 0 and every value is a multiple
/// of it up to 127, it becomes the scale; else the scale is the largest magnitude / 127, in F16.
void quantize_q8_0_block(const float* values, float step, std::byte* out);

/// To the nearest, ties to even; NaN quieted.
uint16_t float_to_bf16(float value);

}  // namespace troupe::model
