// K and V of one head and block as F32, from whatever they are stored as (kv/layout.hpp). Every
// stored number is exact in F32: a code of Q8_0 times its F16 scale has 19 bits. Slots from `valid`
// on were maybe never written and are not read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/simd_math.hpp"
#include "kv/layout.hpp"

namespace troupe::cpu {

template <class Isa, class Element>
void read_floats(const Element* in, uint32_t count, float* out) {
  const uint32_t whole = count / Isa::width * Isa::width;
  for (uint32_t i = 0; i < whole; i += Isa::width) {
    Isa::store(out + i, load_stored<Isa>(in + i));
  }
  for (uint32_t i = whole; i < count; ++i) out[i] = one_stored<Isa>(in + i);
}

template <class Isa, class Element>
void read_key_rows(const std::byte* keys, uint32_t dim, uint32_t valid, float* out) {
  constexpr size_t tokens = 64;
  const auto* in = reinterpret_cast<const Element*>(keys);
  for (uint32_t d = 0; d < dim; ++d) read_floats<Isa>(in + d * tokens, valid, out + d * tokens);
}

template <class Isa, class Element>
void read_value_rows(const std::byte* values, uint32_t dim, uint32_t stride, uint32_t valid,
                     float* out) {
  const auto* in = reinterpret_cast<const Element*>(values);
  for (uint32_t i = 0; i < valid; ++i) {
    read_floats<Isa>(in + size_t{i} * dim, dim, out + size_t{i} * stride);
  }
}

/// Lanes are positions, each with a scale of its own.
template <class Isa>
void read_scaled_keys(const std::byte* keys, uint32_t dim, uint32_t valid, float* out) {
  constexpr size_t tokens = 64;
  const auto* codes = reinterpret_cast<const int8_t*>(keys);
  const auto* scales = reinterpret_cast<const uint16_t*>(keys + dim * tokens);
  const uint32_t whole = valid / Isa::width * Isa::width;
  for (uint32_t first = 0; first < dim; first += kv::scale_dims, scales += tokens) {
    const uint32_t end = dim - first < kv::scale_dims ? dim : first + kv::scale_dims;
    for (uint32_t i = 0; i < whole; i += Isa::width) {
      const auto scale = Isa::load(scales + i);
      for (uint32_t d = first; d < end; ++d) {
        const auto code = Isa::to_float(Isa::load_ints(codes + d * tokens + i));
        Isa::store(out + d * tokens + i, Isa::mul(code, scale));
      }
    }
    for (uint32_t i = whole; i < valid; ++i) {
      const float scale = Isa::to_float(scales[i]);
      for (uint32_t d = first; d < end; ++d) {
        out[d * tokens + i] = static_cast<float>(codes[d * tokens + i]) * scale;
      }
    }
  }
}

/// Lanes are dimensions; those of a vector share a scale.
template <class Isa>
void read_scaled_values(const std::byte* values, uint32_t dim, uint32_t stride, uint32_t valid,
                        float* out) {
  constexpr size_t tokens = 64;
  static_assert(kv::scale_dims % static_cast<uint32_t>(Isa::width) == 0);
  const auto* codes = reinterpret_cast<const int8_t*>(values);
  const auto* scales = reinterpret_cast<const uint16_t*>(values + dim * tokens);
  const uint32_t whole = dim / Isa::width * Isa::width;
  for (uint32_t i = 0; i < valid; ++i, codes += dim, out += stride) {
    for (uint32_t first = 0; first < dim; first += kv::scale_dims, ++scales) {
      const float scale = Isa::to_float(*scales);
      const uint32_t end = dim - first < kv::scale_dims ? dim : first + kv::scale_dims;
      uint32_t d = first;
      for (; d < end && d < whole; d += Isa::width) {
        const auto code = Isa::to_float(Isa::load_ints(codes + d));
        Isa::store(out + d, Isa::mul(code, Isa::set(scale)));
      }
      for (; d < end; ++d) out[d] = static_cast<float>(codes[d]) * scale;
    }
  }
}

/// `valid` columns of K [dim][64].
template <class Isa>
void read_keys(kv::KvType type, const std::byte* keys, uint32_t dim, uint32_t valid, float* out) {
  if (type == kv::KvType::f32) read_key_rows<Isa, float>(keys, dim, valid, out);
  if (type == kv::KvType::f16) read_key_rows<Isa, uint16_t>(keys, dim, valid, out);
  if (type == kv::KvType::bf16) read_key_rows<Isa, Bf16>(keys, dim, valid, out);
  if (type == kv::KvType::q8_0) read_scaled_keys<Isa>(keys, dim, valid, out);
}

/// `valid` rows of V [64][dim], each `stride` floats behind the other.
template <class Isa>
void read_values(kv::KvType type, const std::byte* values, uint32_t dim, uint32_t stride,
                 uint32_t valid, float* out) {
  if (type == kv::KvType::f32) read_value_rows<Isa, float>(values, dim, stride, valid, out);
  if (type == kv::KvType::f16) read_value_rows<Isa, uint16_t>(values, dim, stride, valid, out);
  if (type == kv::KvType::bf16) read_value_rows<Isa, Bf16>(values, dim, stride, valid, out);
  if (type == kv::KvType::q8_0) read_scaled_values<Isa>(values, dim, stride, valid, out);
}

}  // namespace troupe::cpu
