// RMSNorm: y = (x * (1 / sqrt(mean(x^2) + epsilon))) * w, the sum of squares in 16 virtual lanes.
#pragma once

#include <cmath>
#include <cstdint>

#include "cpu/simd_math.hpp"

namespace troupe::cpu {

/// x[n], weight[n] -> y[n]; y may be x.
template <class Isa>
void rmsnorm(const float* x, const float* weight, float epsilon, uint32_t n, float* y) {
  using F = typename Isa::F;
  constexpr uint32_t width = Isa::width;
  Lanes<Isa> squares(0.0f);
  for (uint32_t i = 0; i < n; i += virtual_lanes) {
    for (uint32_t p = 0; p < Lanes<Isa>::parts; ++p) {
      const uint32_t at = i + p * width;
      if (at >= n) break;
      const F v = at + width <= n ? Isa::load(x + at)
                                  : load_some<Isa>(x + at, static_cast<int>(n - at), 0.0f);
      squares.part[p] = Isa::fma(v, v, squares.part[p]);
    }
  }
  const float mean = squares.sum() / static_cast<float>(n);
  const float factor = 1.0f / Isa::sqrt(mean + epsilon);
  for (uint32_t i = 0; i < n; ++i) y[i] = (x[i] * factor) * weight[i];
}

namespace reference {

inline void rmsnorm(const float* x, const float* weight, float epsilon, uint32_t n, float* y) {
  float lane[16] = {};
  for (uint32_t i = 0; i < n; ++i) lane[i % 16] = std::fma(x[i], x[i], lane[i % 16]);
  for (int step = 8; step >= 1; step /= 2) {
    for (int l = 0; l < step; ++l) lane[l] += lane[l + step];
  }
  const float factor = 1.0f / std::sqrt(lane[0] / static_cast<float>(n) + epsilon);
  for (uint32_t i = 0; i < n; ++i) y[i] = x[i] * factor * weight[i];
}

}  // namespace reference
}  // namespace troupe::cpu
