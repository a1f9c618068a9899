// Stores one token's K and V of one layer and head into its slot of a page, rounded to the pool's
// types (docs/numerics.md section 4). Attention reads them back from there, the current token's own
// included.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kv/layout.hpp"

namespace troupe::cpu {

struct WriteKvArgs {
  kv::KvTypes types;
  std::byte* keys = nullptr;    ///< K of the layer and head in the page
  std::byte* values = nullptr;  ///< V likewise; nullptr: there is none
  uint32_t slot = 0;            ///< position mod 64
  uint32_t head_dim = 0;
  const float* key = nullptr;    ///< [head_dim], rotated
  const float* value = nullptr;  ///< [head_dim]
};

/// To nearest even; a NaN stays one. As model::float_to_bf16, but a template like all inline code
/// of kernels: the linker must not take one set's instructions for another's.
template <class Isa>
uint16_t to_bf16(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/// Codes of up to 32 numbers for Q8_0, each `stride` behind the other, and the bits of their scale:
/// amax / 127 as F16. Codes are the numbers over the scale as it is stored, held within 127, half
/// to even. Where amax is NaN, infinite or too large for such a scale, the scale is NaN.
template <class Isa>
uint16_t quantize_scaled(const float* x, uint32_t count, size_t stride, int8_t* codes) {
  uint32_t highest = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t bits;
    __builtin_memcpy(&bits, x + i, sizeof bits);
    bits &= 0x7fffffffu;
    highest = bits > highest ? bits : highest;
  }
  float amax;
  __builtin_memcpy(&amax, &highest, sizeof amax);
  const uint16_t scale = Isa::to_half(amax / 127.0f);
  const float stored = Isa::to_float(scale);
  const bool usable = stored > 0.0f && stored <= 65504.0f;
  for (uint32_t i = 0; i < count; ++i) {
    float q = usable ? x[i] / stored : 0.0f;
    q = q < 127.0f ? q : 127.0f;
    q = q > -127.0f ? q : -127.0f;
    // Adding 1.5 * 2^23 rounds to the nearest integer, ties to even.
    codes[i * stride] = static_cast<int8_t>((q + 0x1.8p23f) - 0x1.8p23f);
  }
  return usable || stored == 0.0f ? scale : uint16_t{0x7e00};
}

template <class Isa>
void write_key(kv::KvType type, std::byte* keys, uint32_t slot, uint32_t dim, const float* key) {
  constexpr size_t tokens = 64;
  if (type == kv::KvType::f32) {
    auto* to = reinterpret_cast<float*>(keys) + slot;
    for (uint32_t d = 0; d < dim; ++d) to[d * tokens] = key[d];
  } else if (type == kv::KvType::f16) {
    auto* to = reinterpret_cast<uint16_t*>(keys) + slot;
    for (uint32_t d = 0; d < dim; ++d) to[d * tokens] = Isa::to_half(key[d]);
  } else if (type == kv::KvType::bf16) {
    auto* to = reinterpret_cast<uint16_t*>(keys) + slot;
    for (uint32_t d = 0; d < dim; ++d) to[d * tokens] = to_bf16<Isa>(key[d]);
  } else {
    auto* codes = reinterpret_cast<int8_t*>(keys) + slot;
    auto* scales = reinterpret_cast<uint16_t*>(keys + dim * tokens) + slot;
    for (uint32_t d = 0; d < dim; d += kv::scale_dims, scales += tokens) {
      const uint32_t count = dim - d < kv::scale_dims ? dim - d : kv::scale_dims;
      *scales = quantize_scaled<Isa>(key + d, count, tokens, codes + d * tokens);
    }
  }
}

template <class Isa>
void write_value(kv::KvType type, std::byte* values, uint32_t slot, uint32_t dim,
                 const float* value) {
  constexpr size_t tokens = 64;
  const size_t first = size_t{slot} * dim;
  if (type == kv::KvType::f32) {
    auto* to = reinterpret_cast<float*>(values) + first;
    for (uint32_t d = 0; d < dim; ++d) to[d] = value[d];
  } else if (type == kv::KvType::f16) {
    auto* to = reinterpret_cast<uint16_t*>(values) + first;
    const uint32_t whole = dim / Isa::width * Isa::width;
    for (uint32_t d = 0; d < whole; d += Isa::width) Isa::store(to + d, Isa::load(value + d));
    for (uint32_t d = whole; d < dim; ++d) to[d] = Isa::to_half(value[d]);
  } else if (type == kv::KvType::bf16) {
    auto* to = reinterpret_cast<uint16_t*>(values) + first;
    for (uint32_t d = 0; d < dim; ++d) to[d] = to_bf16<Isa>(value[d]);
  } else {
    auto* codes = reinterpret_cast<int8_t*>(values) + first;
    const uint32_t groups = (dim + kv::scale_dims - 1) / kv::scale_dims;
    auto* scales = reinterpret_cast<uint16_t*>(values + dim * tokens) + size_t{slot} * groups;
    for (uint32_t d = 0; d < dim; d += kv::scale_dims, ++scales) {
      const uint32_t count = dim - d < kv::scale_dims ? dim - d : kv::scale_dims;
      *scales = quantize_scaled<Isa>(value + d, count, 1, codes + d);
    }
  }
}

template <class Isa>
void write_kv(const WriteKvArgs& a) {
  write_key<Isa>(a.types.keys, a.keys, a.slot, a.head_dim, a.key);
  if (a.values == nullptr) return;
  write_value<Isa>(a.types.values, a.values, a.slot, a.head_dim, a.value);
}

}  // namespace troupe::cpu
