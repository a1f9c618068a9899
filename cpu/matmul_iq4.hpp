// Weights whose 4-bit codes index 16 values, times 8-bit activations:
//   IQ4_NL  w = d v, d an F16 number for 32 weights
//   IQ4_XS  w = d s v, s in -32..31 for 32 weights, d for 256; d s is exact in F32
//   MXFP4   w = 2^(e - 128) v, e in 0..255 for 32 weights, v twice an E2M1 number; products are
//           taken of v + 12, which has no sign, and the 12 come off the sum
#pragma once

#include "cpu/matmul_k.hpp"

namespace troupe::cpu {

inline constexpr int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};
inline constexpr int8_t fp4_values_plus_12[16] = {12, 13, 14, 15, 16, 18, 20, 24,
                                                  12, 11, 10, 9,  8,  6,  4,  0};

template <class Isa>
inline void look_up_codes(const int8_t* values, const uint8_t* codes, int first,
                          typename Isa::Bytes* w) {
  load_codes<Isa, 4>(codes, first, w);
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) w[j] = Isa::look_up(values, w[j]);
}

template <class Isa, bool superblocks>
struct Iq4Spec {
  using F = typename Isa::F;
  using Products = SignedProducts<Isa>;
  static constexpr PanelLayout layout = superblocks ? iq4_xs_layout : iq4_nl_layout;
  static constexpr int parts = 1;
  static constexpr bool has_minimum = false;

  static void weights(const uint8_t* codes, int first, typename Isa::Bytes* w) {
    look_up_codes<Isa>(iq4_values, codes, first, w);
  }
  static F scale(const uint8_t* step, uint32_t block, int /*part*/, int first) {
    if constexpr (!superblocks) return load_halves<Isa>(step, layout, 0, first);
    const auto* small = reinterpret_cast<const int8_t*>(step + layout.bytes_at(block));
    return scaled_halves<Isa>(step, layout, 0, small, first);
  }
  static F minimum(const uint8_t* /*step*/, uint32_t /*block*/, int /*first*/) {
    return Isa::set(0.0f);
  }
};

template <class Isa>
struct Mxfp4Spec {
  using F = typename Isa::F;
  using Products = UnsignedProducts<Isa, 24, 12>;
  static constexpr PanelLayout layout = mxfp4_layout;
  static constexpr int parts = 1;
  static constexpr bool has_minimum = false;

  static void weights(const uint8_t* codes, int first, typename Isa::Bytes* w) {
    look_up_codes<Isa>(fp4_values_plus_12, codes, first, w);
  }
  /// In two factors: the lowest two are subnormal.
  static F scale(const uint8_t* step, uint32_t block, int /*part*/, int first) {
    const auto exponent =
        Isa::sub_int(Isa::load_ints(step + layout.bytes_at(block) + first), Isa::set_int(128));
    const auto half = Isa::halve(exponent);
    return Isa::mul(Isa::power_of_two(half), Isa::power_of_two(Isa::sub_int(exponent, half)));
  }
  static F minimum(const uint8_t* /*step*/, uint32_t /*block*/, int /*first*/) {
    return Isa::set(0.0f);
  }
};

template <class Isa>
using Iq4_NlFormat = QuantizedFormat<Isa, Iq4Spec<Isa, false>>;
template <class Isa>
using Iq4_XsFormat = QuantizedFormat<Isa, Iq4Spec<Isa, true>>;
template <class Isa>
using Mxfp4Format = QuantizedFormat<Isa, Mxfp4Spec<Isa>>;

}  // namespace troupe::cpu
