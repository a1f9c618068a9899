// Functions on lanes that every instruction set computes by the same steps: the exponential of
// base/math.cpp and the 16 virtual lanes of docs/numerics.md section 3.
#pragma once

#include <cstdint>

#include "base/math.hpp"

namespace troupe::cpu {

inline constexpr int virtual_lanes = 16;
inline constexpr float minus_infinity = -__builtin_inff();

/// The bits of a bfloat16: the upper half of an F32.
struct Bf16 {
  uint16_t bits;
};

/// Stored numbers as F32: floats, the bits of F16 or of bfloat16.
template <class Isa>
inline typename Isa::F load_stored(const float* p) {
  return Isa::load(p);
}
template <class Isa>
inline typename Isa::F load_stored(const uint16_t* p) {
  return Isa::load(p);
}
template <class Isa>
inline typename Isa::F load_stored(const Bf16* p) {
  return Isa::load_bf16(&p->bits);
}
template <class Isa>
inline float one_stored(const float* p) {
  return *p;
}
template <class Isa>
inline float one_stored(const uint16_t* p) {
  return Isa::to_float(*p);
}
template <class Isa>
inline float one_stored(const Bf16* p) {
  const uint32_t bits = uint32_t{p->bits} << 16;
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

/// Below this exp_near is not exact: its scale would be no normal number.
inline constexpr float exp_near_lowest = -86.0f;

/// e^r of the remainder after n = round(x / ln 2), which is left in the low bits of `shifted`.
template <class Isa>
inline typename Isa::F exp_remainder(typename Isa::F x, typename Isa::F& shifted) {
  using F = typename Isa::F;
  using namespace exp_constants;
  shifted = Isa::fma(x, Isa::set(log2_e), Isa::set(rounder));
  const F n = Isa::sub(shifted, Isa::set(rounder));
  F r = Isa::fma(n, Isa::set(-ln2_high), x);
  r = Isa::fma(n, Isa::set(-ln2_low), r);
  F p = Isa::set(terms[0]);
  for (int i = 1; i < num_terms; ++i) p = Isa::fma(p, r, Isa::set(terms[i]));
  return p;
}

/// exp_fixed on lanes.
template <class Isa>
inline typename Isa::F exp_lanes(typename Isa::F x) {
  using F = typename Isa::F;
  using I = typename Isa::I;
  using namespace exp_constants;
  x = Isa::min(Isa::set(highest), x);
  x = Isa::max(Isa::set(lowest), x);
  F shifted;
  const F p = exp_remainder<Isa>(x, shifted);
  const I exponent = Isa::sub_int(Isa::bits(shifted), Isa::bits(Isa::set(rounder)));
  const I half = Isa::halve(exponent);
  const F first = Isa::power_of_two(half);
  const F second = Isa::power_of_two(Isa::sub_int(exponent, half));
  return Isa::mul(Isa::mul(p, first), second);
}

/// The same numbers for lanes in [exp_near_lowest, 0], and NaN for NaN: 2^n is normal there, so
/// that one exact product does for two.
template <class Isa>
inline typename Isa::F exp_near(typename Isa::F x) {
  typename Isa::F shifted;
  const typename Isa::F p = exp_remainder<Isa>(x, shifted);
  const auto rounder = Isa::bits(Isa::set(exp_constants::rounder));
  return Isa::mul(p, Isa::power_of_two(Isa::sub_int(Isa::bits(shifted), rounder)));
}

/// exp_fixed of one number.
template <class Isa>
inline float exp_one(float x) {
  float lanes[Isa::width];
  Isa::store(lanes, exp_lanes<Isa>(Isa::set(x)));
  return lanes[0];
}

template <class Isa>
inline float max_of(float a, float b) {
  return a > b ? a : b;
}

/// The 16 virtual lanes of one reduction.
template <class Isa>
struct Lanes {
  static constexpr int parts = virtual_lanes / Isa::width;
  typename Isa::F part[parts];

  explicit Lanes(float start = 0.0f) {
    for (auto& p : part) p = Isa::set(start);
  }
  /// (l, l + 8), (l, l + 4), (l, l + 2), (l, l + 1).
  float sum() const { return Isa::sum_of_lanes(part); }
  /// By the same tree, each step a > b ? a : b.
  float maximum() const { return Isa::max_of_lanes(part); }
};

inline constexpr int tree_leaves = 8;

/// The tree over 8 segments or ranges: ((0+1)+(2+3))+((4+5)+(6+7)), absent ones left out.
template <class Isa, int N>
inline void tree_of_eight(typename Isa::F (*leaf)[N], bool* present) {
  for (int step = 1; step < tree_leaves; step *= 2) {
    for (int i = 0; i < tree_leaves; i += 2 * step) {
      if (!present[i + step]) continue;
      for (int n = 0; n < N; ++n) {
        leaf[i][n] = present[i] ? Isa::add(leaf[i][n], leaf[i + step][n]) : leaf[i + step][n];
      }
      present[i] = true;
    }
  }
}

/// Loads up to Isa::width floats; lanes from `count` on are `fill`.
template <class Isa>
inline typename Isa::F load_some(const float* p, int count, float fill) {
  float lane[Isa::width];
  for (int i = 0; i < Isa::width; ++i) lane[i] = i < count ? p[i] : fill;
  return Isa::load(lane);
}
template <class Isa>
inline void store_some(float* p, int count, const typename Isa::F& a) {
  float lane[Isa::width];
  Isa::store(lane, a);
  for (int i = 0; i < count; ++i) p[i] = lane[i];
}

}  // namespace troupe::cpu
