// Q8_0 weights (w = d q, q in -128..127, blocks of 32) times 8-bit activations. There is nothing to
// take apart: a strip is the panel itself.
#pragma once

#include "cpu/matmul_quantized.hpp"

namespace troupe::cpu {

template <class Isa>
struct Q8_0Format {
  using F = typename Isa::F;
  using Activation = QuantizedBlock;
  using Products = SignedProducts<Isa>;
  using Strip = Q8_0Format;
  static constexpr int tile_tokens = Isa::strip_tile_tokens;
  static constexpr uint32_t strip_tokens_min = UINT32_MAX;
  static constexpr bool whole_panel = Isa::signed_whole_panel;
  static constexpr int parts = 1;
  static constexpr bool has_minimum = false;
  static constexpr size_t block_bytes = q8_0_layout.step_bytes();
  static constexpr size_t col_bytes = block_bytes / quant_block;

  static const Activation* activation(const MatmulArgs& a, uint32_t token) {
    return quantized_activation(a, token);
  }
  static F scale(const uint8_t* block, int /*part*/, int first) {
    return load_halves<Isa>(block, q8_0_layout, 0, first);
  }
  static F minimum(const uint8_t* /*block*/, int /*first*/) { return Isa::set(0.0f); }
  static void unpack(const uint8_t* /*panel*/, uint32_t /*cols*/, uint8_t* /*strip*/) {}

  template <int P, int T>
  static void chain(const uint8_t* panel, int part, uint32_t begin, uint32_t end,
                    const Activation* const* x, F* acc) {
    chunked_chain<Isa, Q8_0Format, P, T>(panel, part, begin, end, x, acc);
  }
};

}  // namespace troupe::cpu
