// FP4 (E2M1) codes with shared 8-bit scales. MXFP4: 32 elements and a power of two (E8M0), by the
// Open Compute Project's "OCP Microscaling Formats" 1.0. NVFP4: 16 elements and an unsigned E4M3,
// four of them a block. Both tables below hold twice the value, the scales are halved: as ggml
// computes it (block_mxfp4, block_nvfp4).
#include <bit>

#include "model/block_bytes.hpp"
#include "model/dequantize.hpp"

namespace troupe::model {
namespace {

constexpr float doubled_fp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// 2^(exponent - 128); the lowest two are subnormal.
float half_of_e8m0(uint32_t exponent) {
  return std::bit_cast<float>(exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23);
}

/// Half of an E4M3 number whose sign is not looked at; the NaN pattern counts as 0, as in ggml.
float half_of_ue4m3(uint32_t bits) {
  const uint32_t exponent = (bits >> 3) & 15u;
  const auto mantissa = static_cast<float>(bits & 7u);
  if (bits == 0x7f) return 0.0f;
  if (exponent == 0) return mantissa * 0x1p-10f;
  return (1.0f + mantissa * 0.125f) * std::bit_cast<float>((exponent + 119u) << 23);
}

}  // namespace

void dequantize_mxfp4(const std::byte* block, float* out) {
  const float scale = half_of_e8m0(byte_at(block, 0));
  for (size_t i = 0; i < 16; ++i) {
    const uint32_t codes = byte_at(block, 1 + i);
    out[i] = scale * doubled_fp4[codes & 15u];
    out[i + 16] = scale * doubled_fp4[codes >> 4];
  }
}

void dequantize_nvfp4(const std::byte* block, float* out) {
  for (size_t sub = 0; sub < 4; ++sub) {
    const float scale = half_of_ue4m3(byte_at(block, sub));
    const std::byte* codes = block + 4 + 8 * sub;
    for (size_t i = 0; i < 8; ++i) {
      out[16 * sub + i] = scale * doubled_fp4[byte_at(codes, i) & 15u];
      out[16 * sub + i + 8] = scale * doubled_fp4[byte_at(codes, i) >> 4];
    }
  }
}

}  // namespace troupe::model
