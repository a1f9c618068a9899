// F32 and F16 weights times F32 activations: one fma per element, ascending over K.
// A panel is [cols][16 rows] of the stored type.
#pragma once

#include "cpu/matmul.hpp"

namespace troupe::cpu {

/// Element: float or uint16_t (the bits of an F16).
template <class Isa, class Element>
struct FloatFormat {
  using F = typename Isa::F;
  using Activation = float;
  static constexpr int tile_tokens = 4;
  static constexpr bool whole_panel = true;

  static const Activation* activation(const MatmulArgs& a, uint32_t token) {
    return a.values + size_t{token} * a.matrix.cols;
  }

  template <int P, int T>
  static void chain(const uint8_t* panel, int part, uint32_t begin, uint32_t end,
                    const Activation* const* x, F* acc) {
    const auto* weights = reinterpret_cast<const Element*>(panel);
    for (uint32_t k = begin; k < end; ++k) {
#pragma GCC unroll 2
      for (int p = 0; p < P; ++p) {
        const F w = Isa::load(weights + k * panel_rows + (part + p) * Isa::width);
#pragma GCC unroll 8
        for (int t = 0; t < T; ++t) {
          acc[p * T + t] = Isa::fma(w, Isa::set(x[t][k]), acc[p * T + t]);
        }
      }
    }
  }
};

}  // namespace troupe::cpu
