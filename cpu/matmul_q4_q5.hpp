// Weights of 4 or 5 bits in blocks of 32 with F16 scales times 8-bit activations: Q4_0 and Q5_0
// (w = d (q - 8), d (q - 16)), Q4_1 and Q5_1 (w = d q + m), q in 0..15 or 0..31.
#pragma once

#include "cpu/matmul_quantized.hpp"

namespace troupe::cpu {

template <class Isa, int bits, bool with_minimum>
struct Q45Spec {
  using F = typename Isa::F;
  using Products = UnsignedProducts<Isa, (1 << bits) - 1, with_minimum ? 0 : 1 << (bits - 1)>;
  static constexpr PanelLayout layout = bits == 4 ? (with_minimum ? q4_1_layout : q4_0_layout)
                                                  : (with_minimum ? q5_1_layout : q5_0_layout);
  static constexpr int parts = 1;
  static constexpr bool has_minimum = with_minimum;

  static void weights(const uint8_t* codes, int first, typename Isa::Bytes* w) {
    load_codes<Isa, bits>(codes, first, w);
  }
  static F scale(const uint8_t* step, uint32_t /*block*/, int /*part*/, int first) {
    return load_halves<Isa>(step, layout, 0, first);
  }
  static F minimum(const uint8_t* step, uint32_t /*block*/, int first) {
    if constexpr (!with_minimum) return Isa::set(0.0f);
    return load_halves<Isa>(step, layout, 1, first);
  }
};

template <class Isa>
using Q4_0Format = QuantizedFormat<Isa, Q45Spec<Isa, 4, false>>;
template <class Isa>
using Q4_1Format = QuantizedFormat<Isa, Q45Spec<Isa, 4, true>>;
template <class Isa>
using Q5_0Format = QuantizedFormat<Isa, Q45Spec<Isa, 5, false>>;
template <class Isa>
using Q5_1Format = QuantizedFormat<Isa, Q45Spec<Isa, 5, true>>;

}  // namespace troupe::cpu
