// K-quants times 8-bit activations. A superblock of 256 has one F16 d (and minimum), its blocks
// have small integers by which these are multiplied; such a product is exact in F32, so it is d_w
// (m_w) of docs/numerics.md section 2 without a rounding of its own.
//   Q4_K, Q5_K  w = d s q - dm n, q in 0..15 or 0..31, s and n in 0..63 for 32 weights. The panel
//               holds -dm, so that m_w = (-dm) n is added.
//   Q6_K        w = d s (q - 32), q in 0..63, s in -128..127 for 16 weights
#pragma once

#include "cpu/matmul_quantized.hpp"

namespace troupe::cpu {

/// A row's F16 number `n` of the superblock times its 8-bit number at `small`.
template <class Isa, class Small>
inline typename Isa::F scaled_halves(const uint8_t* step, const PanelLayout& layout, int n,
                                     const Small* small, int first) {
  return Isa::mul(load_halves<Isa>(step, layout, n, first),
                  Isa::to_float(Isa::load_ints(small + first)));
}

template <class Isa, int bits>
struct Q45KSpec {
  using F = typename Isa::F;
  using Products = UnsignedProducts<Isa, (1 << bits) - 1, 0>;
  static constexpr PanelLayout layout = bits == 4 ? q4_k_layout : q5_k_layout;
  static constexpr int parts = 1;
  static constexpr bool has_minimum = true;

  static void weights(const uint8_t* codes, int first, typename Isa::Bytes* w) {
    load_codes<Isa, bits>(codes, first, w);
  }
  static F scale(const uint8_t* step, uint32_t block, int /*part*/, int first) {
    return scaled_halves<Isa>(step, layout, 0, step + layout.bytes_at(block), first);
  }
  static F minimum(const uint8_t* step, uint32_t block, int first) {
    return scaled_halves<Isa>(step, layout, 1, step + layout.bytes_at(block) + panel_rows, first);
  }
};

template <class Isa>
struct Q6KSpec {
  using F = typename Isa::F;
  using Products = UnsignedProducts<Isa, 63, 32>;
  static constexpr PanelLayout layout = q6_k_layout;
  static constexpr int parts = 2;
  static constexpr bool has_minimum = false;

  static void weights(const uint8_t* codes, int first, typename Isa::Bytes* w) {
    load_codes<Isa, 6>(codes, first, w);
  }
  static F scale(const uint8_t* step, uint32_t block, int part, int first) {
    const auto* small = reinterpret_cast<const int8_t*>(step + layout.bytes_at(block));
    return scaled_halves<Isa>(step, layout, 0, small + part * static_cast<int>(panel_rows), first);
  }
  static F minimum(const uint8_t* /*step*/, uint32_t /*block*/, int /*first*/) {
    return Isa::set(0.0f);
  }
};

template <class Isa>
using Q4_KFormat = QuantizedFormat<Isa, Q45KSpec<Isa, 4>>;
template <class Isa>
using Q5_KFormat = QuantizedFormat<Isa, Q45KSpec<Isa, 5>>;
template <class Isa>
using Q6_KFormat = QuantizedFormat<Isa, Q6KSpec<Isa>>;

}  // namespace troupe::cpu
