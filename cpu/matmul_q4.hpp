// Weights of 4 bits in blocks of 32 times 8-bit activations: Q4_0 (w = d (q - 8)) and Q4_1
// (w = d q + m), q in 0..15.
// A panel's block is 4 chunks of 64 bytes (row r's bytes 4r..4r+3 of chunk j hold k = 8j..8j+3 in
// the low nibbles and 8j+4..8j+7 in the high ones), 16 d, and for Q4_1 16 m (F16).
#pragma once

#include "cpu/matmul_quantized.hpp"

namespace troupe::cpu {

inline constexpr size_t q4_0_panel_block_bytes = 4 * 64 + 16 * 2;
inline constexpr size_t q4_1_panel_block_bytes = 4 * 64 + 2 * 16 * 2;

template <class Isa, bool with_minimum>
struct Q4Format {
  using F = typename Isa::F;
  using Activation = QuantizedBlock;
  using Products = NibbleProducts<Isa, with_minimum ? 0 : 8>;
  using Strip = QuantizedStrip<Isa, Q4Format>;
  static constexpr int tile_tokens = 4;
  static constexpr uint32_t strip_tokens_min = 8;
  static constexpr bool whole_panel = false;
  static constexpr bool has_minimum = with_minimum;
  static constexpr size_t block_bytes =
      with_minimum ? q4_1_panel_block_bytes : q4_0_panel_block_bytes;

  static const Activation* activation(const MatmulArgs& a, uint32_t token) {
    return quantized_activation(a, token);
  }
  static void weights(const uint8_t* block, int first, typename Isa::Bytes* w) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const auto both = Isa::load_bytes(block + 64 * j + 4 * first);
      w[2 * j] = Isa::low_nibbles(both);
      w[2 * j + 1] = Isa::high_nibbles(both);
    }
  }
  static F scale(const uint8_t* block, int first) {
    return Isa::load(reinterpret_cast<const uint16_t*>(block + 256) + first);
  }
  static F minimum(const uint8_t* block, int first) {
    if constexpr (!with_minimum) return Isa::set(0.0f);
    return Isa::load(reinterpret_cast<const uint16_t*>(block + 288) + first);
  }

  static void unpack(const uint8_t* panel, uint32_t cols, uint8_t* strip) {
    Strip::unpack(panel, cols, strip);
  }

  template <int P, int T>
  static void chain(const uint8_t* panel, int part, uint32_t begin, uint32_t end,
                    const Activation* const* x, F* acc) {
    stored_chain<Isa, Q4Format, P, T>(panel, part, begin, end, x, acc);
  }
};

template <class Isa>
using Q4_0Format = Q4Format<Isa, false>;
template <class Isa>
using Q4_1Format = Q4Format<Isa, true>;

}  // namespace troupe::cpu
