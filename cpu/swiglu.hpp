// SwiGLU: gate = silu(gate) * up, silu(x) = x / (1 + e^-x).
#pragma once

#include <cstdint>

#include "cpu/simd_math.hpp"

namespace troupe::cpu {

/// gate[n], up[n] -> gate[n].
template <class Isa>
void swiglu(float* gate, const float* up, uint32_t n) {
  using F = typename Isa::F;
  constexpr uint32_t width = Isa::width;
  for (uint32_t i = 0; i < n; i += width) {
    const int count = n - i < width ? static_cast<int>(n - i) : Isa::width;
    const bool whole = count == Isa::width;
    const F g = whole ? Isa::load(gate + i) : load_some<Isa>(gate + i, count, 0.0f);
    const F u = whole ? Isa::load(up + i) : load_some<Isa>(up + i, count, 0.0f);
    const F e = exp_lanes<Isa>(Isa::sub(Isa::set(-0.0f), g));
    const F y = Isa::mul(Isa::div(g, Isa::add(Isa::set(1.0f), e)), u);
    if (whole) {
      Isa::store(gate + i, y);
    } else {
      store_some<Isa>(gate + i, count, y);
    }
  }
}

namespace reference {

inline void swiglu(float* gate, const float* up, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) gate[i] = silu_fixed(gate[i]) * up[i];
}

}  // namespace reference
}  // namespace troupe::cpu
