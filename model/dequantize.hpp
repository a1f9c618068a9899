// One block of each stored type to floats, bit for bit as ggml's reference code gives them: its
// order of operations in F32, products and sums never fused. One file per family of types.
#pragma once

#include <cstddef>

namespace troupe::model {

// One element (dequantize_float.cpp).
void dequantize_f32(const std::byte* element, float* out);
void dequantize_f16(const std::byte* element, float* out);
void dequantize_bf16(const std::byte* element, float* out);
void dequantize_f64(const std::byte* element, float* out);
void dequantize_f8_e4m3(const std::byte* element, float* out);
void dequantize_f8_e5m2(const std::byte* element, float* out);

// Blocks of 32 (dequantize_simple.cpp).
void dequantize_q4_0(const std::byte* block, float* out);
void dequantize_q4_1(const std::byte* block, float* out);
void dequantize_q5_0(const std::byte* block, float* out);
void dequantize_q5_1(const std::byte* block, float* out);
void dequantize_q8_0(const std::byte* block, float* out);

// Blocks of 256 (dequantize_k.cpp).
void dequantize_q2_k(const std::byte* block, float* out);
void dequantize_q3_k(const std::byte* block, float* out);
void dequantize_q4_k(const std::byte* block, float* out);
void dequantize_q5_k(const std::byte* block, float* out);
void dequantize_q6_k(const std::byte* block, float* out);

// Blocks of 256, but for IQ4_NL's 32 (dequantize_iq.cpp, dequantize_iq4.cpp).
void dequantize_iq2_xxs(const std::byte* block, float* out);
void dequantize_iq2_xs(const std::byte* block, float* out);
void dequantize_iq2_s(const std::byte* block, float* out);
void dequantize_iq3_xxs(const std::byte* block, float* out);
void dequantize_iq3_s(const std::byte* block, float* out);
void dequantize_iq1_s(const std::byte* block, float* out);
void dequantize_iq1_m(const std::byte* block, float* out);
void dequantize_iq4_nl(const std::byte* block, float* out);
void dequantize_iq4_xs(const std::byte* block, float* out);

// Blocks of 256 (dequantize_ternary.cpp).
void dequantize_tq1_0(const std::byte* block, float* out);
void dequantize_tq2_0(const std::byte* block, float* out);

// Blocks of 32 and 64 (dequantize_fp4.cpp).
void dequantize_mxfp4(const std::byte* block, float* out);
void dequantize_nvfp4(const std::byte* block, float* out);

}  // namespace troupe::model
