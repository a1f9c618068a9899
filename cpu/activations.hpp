// The gates of feed-forward parts other than swiglu, and soft caps. Steps are rounded one by one;
// 1 / (1 + e^-x) and tanh are built from the exponential of base/math.cpp.
#pragma once

#include <cmath>
#include <cstdint>

#include "cpu/simd_math.hpp"

namespace troupe::cpu {

/// tanh as (1 - e^-2x) / (1 + e^-2x), x held within 40 either side: beyond 10 it is 1 in F32.
template <class Isa>
inline typename Isa::F tanh_lanes(typename Isa::F x) {
  using F = typename Isa::F;
  x = Isa::max(Isa::set(-40.0f), Isa::min(Isa::set(40.0f), x));
  const F e = exp_lanes<Isa>(Isa::mul(Isa::set(-2.0f), x));
  const F one = Isa::set(1.0f);
  return Isa::div(Isa::sub(one, e), Isa::add(one, e));
}

/// cap * tanh(x / cap).
template <class Isa>
inline typename Isa::F cap_lanes(typename Isa::F x, float cap) {
  const auto limit = Isa::set(cap);
  return Isa::mul(limit, tanh_lanes<Isa>(Isa::div(x, limit)));
}

/// Calls body(lanes of `to`, lanes of `from`) and stores what it gives; n may be any number.
template <class Isa, class Body>
inline void for_lanes(float* to, const float* from, uint32_t n, Body body) {
  using F = typename Isa::F;
  constexpr uint32_t width = Isa::width;
  for (uint32_t i = 0; i < n; i += width) {
    const int count = n - i < width ? static_cast<int>(n - i) : Isa::width;
    const bool whole = count == Isa::width;
    const F a = whole ? Isa::load(to + i) : load_some<Isa>(to + i, count, 0.0f);
    const F b = whole ? Isa::load(from + i) : load_some<Isa>(from + i, count, 0.0f);
    const F y = body(a, b);
    if (whole) {
      Isa::store(to + i, y);
    } else {
      store_some<Isa>(to + i, count, y);
    }
  }
}

/// x[n] -> x[n].
template <class Isa>
void soft_cap(float* x, uint32_t n, float cap) {
  for_lanes<Isa>(x, x, n,
                 [cap](const auto& a, const auto& /*b*/) { return cap_lanes<Isa>(a, cap); });
}

/// gate = gelu(gate) * up: x (1 + tanh u) / 2 = x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715
/// x^3).
template <class Isa>
void gelu_tanh(float* gate, const float* up, uint32_t n) {
  for_lanes<Isa>(gate, up, n, [](const auto& x, const auto& u) {
    const auto cube = Isa::mul(Isa::mul(x, x), x);
    const auto inner = Isa::fma(Isa::set(0.044715f), cube, x);
    const auto e = exp_lanes<Isa>(Isa::mul(Isa::set(-2.0f * 0.7978845608028654f), inner));
    return Isa::mul(Isa::div(x, Isa::add(Isa::set(1.0f), e)), u);
  });
}

/// g = min(gate, limit), u = up within limit either side: gate = g / (1 + e^(-alpha g)) * (u + 1).
template <class Isa>
void clamped_swiglu(float* gate, const float* up, uint32_t n, float limit, float alpha) {
  for_lanes<Isa>(gate, up, n, [limit, alpha](const auto& x, const auto& y) {
    const auto g = Isa::min(Isa::set(limit), x);
    const auto u = Isa::max(Isa::set(-limit), Isa::min(Isa::set(limit), y));
    const auto e = exp_lanes<Isa>(Isa::mul(Isa::set(-alpha), g));
    const auto gated = Isa::div(g, Isa::add(Isa::set(1.0f), e));
    return Isa::mul(gated, Isa::add(u, Isa::set(1.0f)));
  });
}

}  // namespace troupe::cpu
