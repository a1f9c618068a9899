// Blocks of 32 elements with one scale d, and a minimum m in the formats named _1. Element i has
// its low 4 bits in the lower half of byte i, element i + 16 in the upper half; the fifth bits of
// Q5 stand together in 32 bits. Source: the gguf specification, block_q4_0 to block_q8_0 of ggml.
#include "model/block_bytes.hpp"
#include "model/dequantize.hpp"

namespace troupe::model {

void dequantize_q4_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  for (size_t i = 0; i < 16; ++i) {
    const uint32_t codes = byte_at(block, 2 + i);
    out[i] = centred(codes & 15u, 8) * scale;
    out[i + 16] = centred(codes >> 4, 8) * scale;
  }
}

void dequantize_q4_1(const std::byte* block, float* out) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  for (size_t i = 0; i < 16; ++i) {
    const uint32_t codes = byte_at(block, 4 + i);
    out[i] = centred(codes & 15u, 0) * scale + minimum;
    out[i + 16] = centred(codes >> 4, 0) * scale + minimum;
  }
}

void dequantize_q5_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  const uint32_t fifth = u32_at(block + 2);
  for (size_t i = 0; i < 16; ++i) {
    const uint32_t codes = byte_at(block, 6 + i);
    out[i] = centred((codes & 15u) | (((fifth >> i) & 1u) << 4), 16) * scale;
    out[i + 16] = centred((codes >> 4) | (((fifth >> (i + 16)) & 1u) << 4), 16) * scale;
  }
}

void dequantize_q5_1(const std::byte* block, float* out) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  const uint32_t fifth = u32_at(block + 4);
  for (size_t i = 0; i < 16; ++i) {
    const uint32_t codes = byte_at(block, 8 + i);
    out[i] = centred((codes & 15u) | (((fifth >> i) & 1u) << 4), 0) * scale + minimum;
    out[i + 16] = centred((codes >> 4) | (((fifth >> (i + 16)) & 1u) << 4), 0) * scale + minimum;
  }
}

void dequantize_q8_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  for (size_t i = 0; i < 32; ++i) {
    out[i] = static_cast<float>(static_cast<int8_t>(block[2 + i])) * scale;
  }
}

}  // namespace troupe::model
