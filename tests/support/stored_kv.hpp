// What a KV type makes of numbers, by docs/numerics.md section 4 and not by the kernels.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/half.hpp"
#include "kv/layout.hpp"

namespace troupe::testing {

inline float stored_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return x;
  const uint32_t lower = bits & 0xffff0000u;
  const uint32_t rest = bits & 0xffffu;
  const bool up = rest > 0x8000u || (rest == 0x8000u && (bits & 0x10000u) != 0);
  return std::bit_cast<float>(lower + (up ? 0x10000u : 0u));
}

/// One group that shares a scale, in place.
inline void store_q8_0(float* x, size_t count) {
  float amax = 0.0f;
  bool bad = false;
  for (size_t i = 0; i < count; ++i) {
    bad = bad || !std::isfinite(x[i]);
    amax = std::max(amax, std::fabs(x[i]));
  }
  const float scale = half_to_float(float_to_half(amax / 127.0f));
  bad = bad || !std::isfinite(scale);
  for (size_t i = 0; i < count; ++i) {
    if (bad) {
      x[i] = std::numeric_limits<float>::quiet_NaN();
    } else if (scale == 0.0f) {
      x[i] = 0.0f;
    } else {
      // A code is an integer: there is no negative zero.
      const auto code = static_cast<int>(std::clamp(std::nearbyint(x[i] / scale), -127.0f, 127.0f));
      x[i] = static_cast<float>(code) * scale;
    }
  }
}

/// [tokens, dim] as they are read back.
inline std::vector<float> as_stored(kv::KvType type, std::vector<float> x, uint32_t dim) {
  if (type == kv::KvType::f16) {
    for (float& one : x) one = half_to_float(float_to_half(one));
  } else if (type == kv::KvType::bf16) {
    for (float& one : x) one = stored_bf16(one);
  } else if (type == kv::KvType::q8_0) {
    for (size_t token = 0; token < x.size(); token += dim) {
      for (size_t d = 0; d < dim; d += 32) {
        store_q8_0(&x[token + d], std::min<size_t>(32, dim - d));
      }
    }
  }
  return x;
}

}  // namespace troupe::testing
