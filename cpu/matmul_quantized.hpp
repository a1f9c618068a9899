// Weights in blocks of 32 times 8-bit activations: what the quantised formats share.
//
// A Format says how a stored panel's block is taken apart:
//   Products            how its integer products are summed (below)
//   block_bytes         of a panel's block: 16 rows of 32 weights
//   has_minimum         w = d q + m instead of w = d q
//   weights(block, first, w)   8 chunks of 4 k for the rows from `first` on
//   scale(block, first), minimum(block, first)
// A Strip is the same panel with its weights as bytes and its scales and minima as floats.
#pragma once

#include "cpu/matmul.hpp"

namespace troupe::cpu {

/// Weights of a few bits without sign, less `offset`: 0..15.
template <class Isa, int offset>
struct NibbleProducts {
  using Weights = typename Isa::Bytes;
  using Sum = typename Isa::NibbleSum;
  static Sum zero() { return Isa::nibble_sum(); }
  static Weights load(const uint8_t* p) { return Isa::load_bytes(p); }
  static void store(uint8_t* p, const Weights& w) { Isa::store_bytes(p, w); }
  static void dot(Sum& sum, const Weights& w, const int8_t* x) { Isa::dot_nibbles(sum, w, x); }
  static typename Isa::I finish(const Sum& sum, const QuantizedBlock& x) {
    if constexpr (offset == 0) return Isa::finish(sum);
    return Isa::sub_int(Isa::finish(sum), Isa::set_int(offset * x.sum));
  }
};

/// Weights -128..127.
template <class Isa>
struct SignedProducts {
  using Weights = typename Isa::Signed;
  using Sum = typename Isa::I;
  static Sum zero() { return Isa::set_int(0); }
  static Weights load(const uint8_t* p) { return Isa::load_signed(p); }
  static void dot(Sum& sum, const Weights& w, const int8_t* x) { Isa::dot_signed(sum, w, x); }
  static typename Isa::I finish(const Sum& sum, const QuantizedBlock& x) {
    return Isa::finish_signed(sum, x.sum);
  }
};

inline const QuantizedBlock* quantized_activation(const MatmulArgs& a, uint32_t token) {
  return a.blocks + size_t{token} * (a.matrix.cols / quant_block);
}

/// acc = fma(isum, d a, acc), then fma(m, a sum, acc).
template <class Isa, class Format>
inline void add_block(const typename Format::Products::Sum& sum, const QuantizedBlock& x,
                      const typename Isa::F& scale, const typename Isa::F& minimum,
                      typename Isa::F& acc) {
  const auto product = Isa::to_float(Format::Products::finish(sum, x));
  typename Isa::F y = Isa::fma(product, Isa::mul(scale, Isa::set(x.scale)), acc);
  if constexpr (Format::has_minimum) y = Isa::fma(minimum, Isa::set(x.scaled_sum), y);
  acc = y;
}

/// Blocks [begin, end) of a stored panel: the weights of a vector of rows stay in registers for all
/// tokens of the tile.
template <class Isa, class Format, int P, int T>
inline void stored_chain(const uint8_t* panel, int part, uint32_t begin, uint32_t end,
                         const QuantizedBlock* const* x, typename Isa::F* acc) {
  using F = typename Isa::F;
  using Products = typename Format::Products;
  const QuantizedBlock* q[T];
  for (int t = 0; t < T; ++t) q[t] = x[t] + begin;
  const uint8_t* block = panel + begin * Format::block_bytes;
  for (uint32_t b = begin; b < end; ++b, block += Format::block_bytes) {
    prefetch_weights<Isa, T>(block, Format::block_bytes);
#pragma GCC unroll 2
    for (int p = 0; p < P; ++p) {
      const int first = (part + p) * Isa::width;
      typename Products::Weights w[8];
      Format::weights(block, first, w);
      const F scale = Format::scale(block, first);
      const F minimum = Format::minimum(block, first);
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) {
        typename Products::Sum sum = Products::zero();
#pragma GCC unroll 8
        for (int j = 0; j < 8; ++j) Products::dot(sum, w[j], q[t]->values + 4 * j);
        add_block<Isa, Format>(sum, *q[t], scale, minimum, acc[p * T + t]);
      }
    }
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) ++q[t];
  }
}

/// The same over a source whose chunks can be loaded one by one: all sums of the tile stay in
/// registers, a chunk of weights is loaded once, an activation is broadcast once for P vectors.
template <class Isa, class Source, int P, int T>
inline void chunked_chain(const uint8_t* blocks, int part, uint32_t begin, uint32_t end,
                          const QuantizedBlock* const* x, typename Isa::F* acc) {
  using F = typename Isa::F;
  using Products = typename Source::Products;
  const QuantizedBlock* q[T];
  for (int t = 0; t < T; ++t) q[t] = x[t] + begin;
  const uint8_t* block = blocks + begin * Source::block_bytes;
  for (uint32_t b = begin; b < end; ++b, block += Source::block_bytes) {
    prefetch_weights<Isa, T>(block, Source::block_bytes);
    typename Products::Sum sum[P * T];
#pragma GCC unroll 16
    for (int i = 0; i < P * T; ++i) sum[i] = Products::zero();
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      typename Products::Weights w[P];
#pragma GCC unroll 2
      for (int p = 0; p < P; ++p) {
        w[p] = Products::load(block + 64 * j + 4 * (part + p) * Isa::width);
      }
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) {
#pragma GCC unroll 2
        for (int p = 0; p < P; ++p) Products::dot(sum[p * T + t], w[p], q[t]->values + 4 * j);
      }
    }
#pragma GCC unroll 2
    for (int p = 0; p < P; ++p) {
      const int first = (part + p) * Isa::width;
      const F scale = Source::scale(block, first);
      const F minimum = Source::minimum(block, first);
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) {
        add_block<Isa, Source>(sum[p * T + t], *q[t], scale, minimum, acc[p * T + t]);
      }
    }
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) ++q[t];
  }
}

/// A block is 640 bytes: 8 chunks of 64 bytes (row r's bytes 4r..4r+3 of chunk j hold k =
/// 4j..4j+3), 16 scales, 16 minima (F32).
template <class Isa, class Format>
struct QuantizedStrip {
  using F = typename Isa::F;
  using Activation = QuantizedBlock;
  using Products = typename Format::Products;
  static constexpr int tile_tokens = Isa::strip_tile_tokens;
  static constexpr bool whole_panel = true;
  static constexpr size_t block_bytes = 8 * 64 + 2 * 16 * sizeof(float);
  static constexpr bool has_minimum = Format::has_minimum;

  static const Activation* activation(const MatmulArgs& a, uint32_t token) {
    return quantized_activation(a, token);
  }
  static F scale(const uint8_t* block, int first) {
    return Isa::load(reinterpret_cast<const float*>(block + 512) + first);
  }
  static F minimum(const uint8_t* block, int first) {
    if constexpr (!has_minimum) return Isa::set(0.0f);
    return Isa::load(reinterpret_cast<const float*>(block + 512) + 16 + first);
  }

  static void unpack(const uint8_t* panel, uint32_t cols, uint8_t* strip) {
    for (uint32_t b = 0; b < cols / quant_block; ++b) {
      const uint8_t* block = panel + b * Format::block_bytes;
      uint8_t* out = strip + b * block_bytes;
      for (int first = 0; first < static_cast<int>(panel_rows); first += Isa::width) {
        typename Products::Weights w[8];
        Format::weights(block, first, w);
        for (int j = 0; j < 8; ++j) Products::store(out + 64 * j + 4 * first, w[j]);
        auto* floats = reinterpret_cast<float*>(out + 512);
        Isa::store(floats + first, Format::scale(block, first));
        if constexpr (has_minimum) Isa::store(floats + 16 + first, Format::minimum(block, first));
      }
    }
  }

  template <int P, int T>
  static void chain(const uint8_t* strip, int part, uint32_t begin, uint32_t end,
                    const Activation* const* x, F* acc) {
    chunked_chain<Isa, QuantizedStrip, P, T>(strip, part, begin, end, x, acc);
  }
};

}  // namespace troupe::cpu
