// Activations in fast mode: per token and 32 elements, scale = amax / 127, values rounded half to
// even (docs/numerics.md section 2). Integer comparison of magnitudes lets a NaN win the maximum,
// so it reaches the scale and, through it, the logits.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "cpu/simd_math.hpp"

namespace troupe::cpu {

inline constexpr uint32_t quant_block = 32;

struct QuantizedBlock {
  float scale;                 ///< a
  float scaled_sum;            ///< a * sum, one rounding
  int32_t sum;                 ///< of values
  int32_t first_sum;           ///< of the first 16, for weights in blocks of 16
  int8_t values[quant_block];  ///< -127..127
};

/// x[blocks * 32] -> out[blocks].
template <class Isa>
void quantize_activations(const float* x, uint32_t blocks, QuantizedBlock* out) {
  using I = typename Isa::I;
  using F = typename Isa::F;
  constexpr int width = Isa::width;
  constexpr int vectors = static_cast<int>(quant_block) / width;
  for (uint32_t b = 0; b < blocks; ++b, x += quant_block, ++out) {
    I magnitude = Isa::set_int(0);
    for (int v = 0; v < vectors; ++v) {
      const I bits = Isa::bits(Isa::load(x + v * width));
      magnitude = Isa::max_int(magnitude, Isa::and_int(bits, Isa::set_int(0x7fffffff)));
    }
    const int32_t highest = Isa::highest_lane(magnitude);
    float amax;
    __builtin_memcpy(&amax, &highest, sizeof amax);
    const float scale = amax / 127.0f;
    const float divisor = scale > 0.0f || scale != scale ? scale : 1.0f;
    const bool zero = !(scale > 0.0f) && scale == scale;
    I rounded[vectors];
    I sums[2] = {Isa::set_int(0), Isa::set_int(0)};
    for (int v = 0; v < vectors; ++v) {
      F q = Isa::div(Isa::load(x + v * width), Isa::set(divisor));
      q = Isa::max(Isa::min(q, Isa::set(127.0f)), Isa::set(-127.0f));
      // Adding 1.5 * 2^23 rounds to the nearest integer, ties to even, and leaves it in the bits.
      const F shifted = Isa::add(q, Isa::set(0x1.8p23f));
      rounded[v] = Isa::sub_int(Isa::bits(shifted), Isa::bits(Isa::set(0x1.8p23f)));
      if (zero) rounded[v] = Isa::set_int(0);
      I& half = sums[2 * v / vectors];
      half = Isa::add_int(half, rounded[v]);
    }
    Isa::store_block(out->values, rounded);
    const int32_t sum = Isa::sum_of_ints(Isa::add_int(sums[0], sums[1]));
    out->scale = scale;
    out->sum = sum;
    out->first_sum = Isa::sum_of_ints(sums[0]);
    out->scaled_sum = scale * static_cast<float>(sum);
  }
}

namespace reference {

inline void quantize_activations(const float* x, uint32_t blocks, QuantizedBlock* out) {
  for (uint32_t b = 0; b < blocks; ++b) {
    const float* in = x + size_t{b} * quant_block;
    float amax = 0;
    bool nan = false;
    for (uint32_t i = 0; i < quant_block; ++i) {
      nan = nan || std::isnan(in[i]);
      if (std::fabs(in[i]) > amax) amax = std::fabs(in[i]);
    }
    const float scale = nan ? NAN : amax / 127.0f;
    out[b].sum = out[b].first_sum = 0;
    for (uint32_t i = 0; i < quant_block; ++i) {
      float q = scale == 0.0f ? 0.0f : std::nearbyint(in[i] / scale);
      if (!(q <= 127.0f)) q = 127.0f;
      if (q < -127.0f) q = -127.0f;
      out[b].values[i] = static_cast<int8_t>(q);
      out[b].sum += out[b].values[i];
      if (i < 16) out[b].first_sum += out[b].values[i];
    }
    out[b].scale = scale;
    out[b].scaled_sum = scale * static_cast<float>(out[b].sum);
  }
}

}  // namespace reference
}  // namespace troupe::cpu
