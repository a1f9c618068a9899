// Weights of -1, 0 and 1 times one scale: TQ1_0 keeps five in a byte as digits of base 3, TQ2_0
// four as two bits each. Source: block_tq1_0 and block_tq2_0 of ggml.
#include "model/block_bytes.hpp"
#include "model/dequantize.hpp"

namespace troupe::model {
namespace {

/// Digit `n` of a byte that holds five digits as a fraction of 243/256: multiplying by 3^n brings
/// it to the top, modulo 256.
float digit(uint32_t packed, size_t n) {
  constexpr uint32_t powers[5] = {1, 3, 9, 27, 81};
  const uint32_t shifted = (packed * powers[n]) & 255u;
  return centred((shifted * 3) >> 8, 1);
}

}  // namespace

void dequantize_tq1_0(const std::byte* block, float* out) {
  const float d = half_at(block + 52);
  for (size_t i = 0; i < 160; ++i) out[i] = d * digit(byte_at(block, i % 32), i / 32);
  out += 160;
  for (size_t i = 0; i < 80; ++i) out[i] = d * digit(byte_at(block, 32 + i % 16), i / 16);
  out += 80;
  for (size_t i = 0; i < 16; ++i) out[i] = d * digit(byte_at(block, 48 + i % 4), i / 4);
}

void dequantize_tq2_0(const std::byte* block, float* out) {
  const float d = half_at(block + 64);
  for (size_t i = 0; i < 256; ++i) {
    const uint32_t packed = byte_at(block, i / 128 * 32 + i % 32);
    out[i] = d * centred((packed >> (i % 128 / 32 * 2)) & 3u, 1);
  }
}

}  // namespace troupe::model
