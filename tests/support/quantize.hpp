// Quantises floats to the stored tensor types, for weights that tests make up.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/half.hpp"
#include "model/tensor.hpp"
#include "tests/support/gguf_format.hpp"

namespace troupe::testing {

inline void quantize_block_q8_0(const float* x, Bytes& out) {
  float amax = 0.0f;
  for (int i = 0; i < 32; ++i) amax = std::max(amax, std::fabs(x[i]));
  const float scale = amax / 127.0f;
  const float inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
  put(out, float_to_half(scale));
  for (int i = 0; i < 32; ++i) put(out, static_cast<int8_t>(std::round(x[i] * inverse)));
}

inline void quantize_block_q4_0(const float* x, Bytes& out) {
  float extreme = 0.0f;
  for (int i = 0; i < 32; ++i) {
    if (std::fabs(x[i]) > std::fabs(extreme)) extreme = x[i];
  }
  const float scale = extreme / -8.0f;
  const float inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
  put(out, float_to_half(scale));
  const auto code = [&](float v) {
    return static_cast<uint8_t>(std::clamp(static_cast<int>(v * inverse + 8.5f), 0, 15));
  };
  for (int i = 0; i < 16; ++i) {
    put(out, static_cast<uint8_t>(code(x[i]) | (code(x[i + 16]) << 4)));
  }
}

inline void quantize_block_q4_1(const float* x, Bytes& out) {
  const auto [low, high] = std::minmax_element(x, x + 32);
  const float minimum = *low;
  const float scale = (*high - minimum) / 15.0f;
  const float inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
  put(out, float_to_half(scale));
  put(out, float_to_half(minimum));
  const auto code = [&](float v) {
    return static_cast<uint8_t>(std::min(15, static_cast<int>((v - minimum) * inverse + 0.5f)));
  };
  for (int i = 0; i < 16; ++i) {
    put(out, static_cast<uint8_t>(code(x[i]) | (code(x[i + 16]) << 4)));
  }
}

/// To nearest even; for finite numbers.
inline uint16_t to_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// The stored form of `values`; their number must be a multiple of the type's block size.
inline Bytes quantize(std::span<const float> values, model::TensorType type) {
  const uint32_t block = model::info(type).block_size;
  if (values.size() % block != 0) std::abort();
  Bytes out;
  for (size_t i = 0; i < values.size(); i += block) {
    switch (type) {
      case model::TensorType::f32:
        put(out, values[i]);
        break;
      case model::TensorType::f16:
        put(out, float_to_half(values[i]));
        break;
      case model::TensorType::bf16:
        put(out, to_bf16(values[i]));
        break;
      case model::TensorType::q4_0:
        quantize_block_q4_0(&values[i], out);
        break;
      case model::TensorType::q8_0:
        quantize_block_q8_0(&values[i], out);
        break;
      case model::TensorType::q4_1:
        quantize_block_q4_1(&values[i], out);
        break;
      default:
        std::abort();
    }
  }
  return out;
}

}  // namespace troupe::testing
