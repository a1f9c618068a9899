// Q4_1 weights (w = d q + m, q in 0..15, blocks of 32) times 8-bit activations.
// A panel's block is 320 bytes: 4 chunks of 64 bytes (row r's bytes 4r..4r+3 of chunk j hold
// k = 8j..8j+3 in the low nibbles and 8j+4..8j+7 in the high ones), 16 d, 16 m (both F16).
#pragma once

#include "cpu/matmul.hpp"

namespace troupe::cpu {

inline constexpr size_t q4_1_panel_block_bytes = 4 * 64 + 2 * 16 * 2;

template <class Isa>
struct Q4_1Format {
  using F = typename Isa::F;
  using Activation = QuantizedBlock;
  static constexpr int tile_tokens = 4;
  static constexpr bool whole_panel = false;

  static const Activation* activation(const MatmulArgs& a, uint32_t token) {
    return a.blocks + size_t{token} * (a.matrix.cols / quant_block);
  }

  template <int P, int T>
  static void chain(const uint8_t* panel, int part, uint32_t begin, uint32_t end,
                    const Activation* const* x, F* acc) {
    using Bytes = typename Isa::Bytes;
    for (uint32_t b = begin; b < end; ++b) {
      const uint8_t* block = panel + b * q4_1_panel_block_bytes;
      prefetch_weights<Isa, T>(block, q4_1_panel_block_bytes);
      const auto* d = reinterpret_cast<const uint16_t*>(block + 256);
      for (int p = 0; p < P; ++p) {
        Bytes w[8];
        const int first = (part + p) * Isa::width;
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          const Bytes both = Isa::load_bytes(block + 64 * j + 4 * first);
          w[2 * j] = Isa::low_nibbles(both);
          w[2 * j + 1] = Isa::high_nibbles(both);
        }
        const F scale = Isa::load(d + first);
        const F minimum = Isa::load(d + 16 + first);
#pragma GCC unroll 8
        for (int t = 0; t < T; ++t) {
          const QuantizedBlock& q = x[t][b];
          typename Isa::NibbleSum sum = Isa::nibble_sum();
#pragma GCC unroll 8
          for (int j = 0; j < 8; ++j) Isa::dot_nibbles(sum, w[j], q.values + 4 * j);
          F& a = acc[p * T + t];
          a = Isa::fma(Isa::to_float(Isa::finish(sum)), Isa::mul(scale, Isa::set(q.scale)), a);
          a = Isa::fma(minimum, Isa::set(q.scaled_sum), a);
        }
      }
    }
  }
};

}  // namespace troupe::cpu
