// Q8_0 weights (w = d q, q in -128..127, blocks of 32) times 8-bit activations.
// A panel's block is 544 bytes: 8 chunks of 64 bytes (row r's bytes 4r..4r+3 of chunk j hold
// k = 4j..4j+3), then 16 d (F16).
#pragma once

#include "cpu/matmul.hpp"

namespace troupe::cpu {

inline constexpr size_t q8_0_panel_block_bytes = 8 * 64 + 16 * 2;

template <class Isa>
struct Q8_0Format {
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
    using I = typename Isa::I;
    for (uint32_t b = begin; b < end; ++b) {
      const uint8_t* block = panel + b * q8_0_panel_block_bytes;
      prefetch_weights<Isa, T>(block, q8_0_panel_block_bytes);
      const auto* d = reinterpret_cast<const uint16_t*>(block + 512);
      for (int p = 0; p < P; ++p) {
        const int first = (part + p) * Isa::width;
        I sum[T];
        for (I& s : sum) s = Isa::set_int(0);
#pragma GCC unroll 8
        for (int j = 0; j < 8; ++j) {
          const auto w = Isa::load_signed(block + 64 * j + 4 * first);
#pragma GCC unroll 8
          for (int t = 0; t < T; ++t) Isa::dot_signed(sum[t], w, x[t][b].values + 4 * j);
        }
        const F scale = Isa::load(d + first);
#pragma GCC unroll 8
        for (int t = 0; t < T; ++t) {
          const QuantizedBlock& q = x[t][b];
          const F product = Isa::to_float(Isa::finish_signed(sum[t], q.sum));
          F& a = acc[p * T + t];
          a = Isa::fma(product, Isa::mul(scale, Isa::set(q.scale)), a);
        }
      }
    }
  }
};

}  // namespace troupe::cpu
