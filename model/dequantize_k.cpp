// K-quants: blocks of 256 elements, cut into 16 or 8 sub-blocks whose scales (and minima) are small
// integers times one F16 for the block. Source: block_q2_K to block_q6_K of ggml.
#include "model/block_bytes.hpp"
#include "model/dequantize.hpp"
#include "model/k_scales.hpp"

namespace troupe::model {
namespace {

constexpr size_t block_elements = 256;

/// Bits of element `i` of a plane of 2-bit codes: 32 bytes hold 128 elements, the first 32 in the
/// lowest bits.
uint32_t two_bits(const std::byte* plane, size_t i) {
  return (byte_at(plane, i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2)) & 3u;
}

/// Bit of element `i` of a plane of 32 bytes, one bit of each byte per 32 elements.
uint32_t one_bit(const std::byte* plane, size_t i) {
  return (byte_at(plane, i % 32) >> (i / 32)) & 1u;
}

/// 4 bits of element `i`: 32 bytes hold 64 elements, the first 32 in the lower halves.
uint32_t four_bits(const std::byte* plane, size_t i) {
  return (byte_at(plane, i / 64 * 32 + i % 32) >> (i % 64 / 32 * 4)) & 15u;
}

}  // namespace

void dequantize_q2_k(const std::byte* block, float* out) {
  const float d = half_at(block + 80);
  const float d_minimum = half_at(block + 82);
  for (size_t i = 0; i < block_elements; ++i) {
    const uint32_t packed = byte_at(block, i / 16);
    const float scale = d * centred(packed & 15u, 0);
    const float minimum = d_minimum * centred(packed >> 4, 0);
    out[i] = scale * centred(two_bits(block + 16, i), 0) - minimum;
  }
}

void dequantize_q3_k(const std::byte* block, float* out) {
  const std::byte* high = block;
  const std::byte* low = block + 32;
  const std::byte* scales = block + 96;
  const float d = half_at(block + 108);
  for (size_t i = 0; i < block_elements; ++i) {
    const size_t sub = i / 16;
    const uint32_t packed = ((byte_at(scales, sub % 8) >> (sub / 8 * 4)) & 15u) |
                            (((byte_at(scales, 8 + sub % 4) >> (sub / 4 * 2)) & 3u) << 4);
    // The third bit is stored inverted: where it is clear, 4 is taken off.
    const int offset = one_bit(high, i) != 0 ? 0 : 4;
    out[i] = d * centred(packed, 32) * centred(two_bits(low, i), offset);
  }
}

void dequantize_q4_k(const std::byte* block, float* out) {
  const float d = half_at(block);
  const float d_minimum = half_at(block + 2);
  for (size_t sub = 0; sub < 8; ++sub) {
    const ScaleAndMinimum part = scale_and_minimum(block + 4, sub);
    const float scale = d * part.scale;
    const float minimum = d_minimum * part.minimum;
    for (size_t i = 32 * sub; i < 32 * sub + 32; ++i) {
      out[i] = scale * centred(four_bits(block + 16, i), 0) - minimum;
    }
  }
}

void dequantize_q5_k(const std::byte* block, float* out) {
  const float d = half_at(block);
  const float d_minimum = half_at(block + 2);
  for (size_t sub = 0; sub < 8; ++sub) {
    const ScaleAndMinimum part = scale_and_minimum(block + 4, sub);
    const float scale = d * part.scale;
    const float minimum = d_minimum * part.minimum;
    for (size_t i = 32 * sub; i < 32 * sub + 32; ++i) {
      const uint32_t value = four_bits(block + 48, i) | (one_bit(block + 16, i) << 4);
      out[i] = scale * centred(value, 0) - minimum;
    }
  }
}

void dequantize_q6_k(const std::byte* block, float* out) {
  const float d = half_at(block + 208);
  for (size_t i = 0; i < block_elements; ++i) {
    // 64 bytes hold the low bits of 128 elements, the first 64 in the lower halves.
    const uint32_t low = (byte_at(block, i / 128 * 64 + i % 64) >> (i % 128 / 64 * 4)) & 15u;
    const uint32_t value = low | (two_bits(block + 128, i) << 4);
    const auto scale = static_cast<float>(static_cast<int8_t>(block[192 + i / 16]));
    out[i] = d * scale * centred(value, 32);
  }
}

}  // namespace troupe::model
