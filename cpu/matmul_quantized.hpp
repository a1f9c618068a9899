// Weights in blocks of 32 times 8-bit activations: what the quantised formats share.
//
// A Spec says how a stored panel is taken apart (panel_layout.hpp):
//   layout          of a step of K
//   Products        how its integer products are summed (below)
//   parts           1; 2 where 16 weights have a scale: sums and scales of the halves of a block
//   has_minimum     w = d q + m instead of w = d q
//   weights(codes, first, w)   a block's 8 chunks of 4 k for the rows from `first` on
//   scale(step, block, part, first), minimum(step, block, first)
// A Strip is the same panel with its weights as bytes and its scales and minima as floats.
#pragma once

#include <utility>

#include "cpu/matmul.hpp"
#include "cpu/panel_layout.hpp"

namespace troupe::cpu {

/// Weights q - offset, q in 0..max. `run` chunks of 4 products each fit into 16 bits: two of them
/// share a half of a lane, which AVX2 adds up before it widens.
template <class Isa, int max, int offset>
struct UnsignedProducts {
  static constexpr int run = max <= 16 ? 8 : (max <= 32 ? 4 : 2);
  static_assert(max * 127 * 2 * run < 32768);
  using Weights = typename Isa::Bytes;
  using Sum = typename Isa::ByteSum;
  static Sum zero() { return Isa::byte_sum(); }
  static Weights prepare(const typename Isa::Bytes& w) { return w; }
  /// Chunk `j` of a part.
  static void dot(Sum& sum, int j, const Weights& w, const int8_t* x) {
    Isa::template dot_bytes<run>(sum, j, w, x);
  }
  static typename Isa::I finish(const Sum& sum, int32_t x_sum) {
    if constexpr (offset == 0) return Isa::finish(sum);
    return Isa::sub_int(Isa::finish(sum), Isa::set_int(offset * x_sum));
  }
};

/// Weights -128..127.
template <class Isa>
struct SignedProducts {
  using Weights = typename Isa::Signed;
  using Sum = typename Isa::I;
  static Sum zero() { return Isa::set_int(0); }
  static Weights prepare(const typename Isa::Bytes& w) { return Isa::prepare_signed(w); }
  static void dot(Sum& sum, int /*j*/, const Weights& w, const int8_t* x) {
    Isa::dot_signed(sum, w, x);
  }
  static typename Isa::I finish(const Sum& sum, int32_t x_sum) {
    return Isa::finish_signed(sum, x_sum);
  }
};

inline const QuantizedBlock* quantized_activation(const MatmulArgs& a, uint32_t token) {
  return a.blocks + size_t{token} * (a.matrix.cols / quant_block);
}

/// The codes of a block (panel_layout.hpp) as 8 chunks of bytes.
template <class Isa, int bits>
inline void load_codes(const uint8_t* codes, int first, typename Isa::Bytes* w) {
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const auto both = Isa::load_bytes(codes + 64 * j + 4 * first);
    w[2 * j] = Isa::low_nibbles(both);
    w[2 * j + 1] = Isa::high_nibbles(both);
  }
  if constexpr (bits == 5) {
    const auto upper = Isa::load_bytes(codes + 256 + 4 * first);
    [&]<int... j>(std::integer_sequence<int, j...>) {
      ((w[j] = Isa::or_bytes(w[j], Isa::template move_bits<4 - j>(upper, 0x10))), ...);
    }
    (std::make_integer_sequence<int, 8>());
  }
  if constexpr (bits == 6) {
    const auto upper = Isa::load_bytes(codes + 256 + 4 * first);
    const auto rest = Isa::load_bytes(codes + 320 + 4 * first);
    [&]<int... j>(std::integer_sequence<int, j...>) {
      ((w[j] = Isa::or_bytes(w[j], Isa::template move_bits<4 - 2 * j>(upper, 0x30)),
        w[j + 4] = Isa::or_bytes(w[j + 4], Isa::template move_bits<4 - 2 * j>(rest, 0x30))),
       ...);
    }
    (std::make_integer_sequence<int, 4>());
  }
}

/// Number `n` of the F16 numbers of a row and step, for the rows from `first` on.
template <class Isa>
inline typename Isa::F load_halves(const uint8_t* step, const PanelLayout& layout, int n,
                                   int first) {
  return Isa::load(reinterpret_cast<const uint16_t*>(step + layout.halves_at()) +
                   n * static_cast<int>(panel_rows) + first);
}

/// For block `b` of a step, as much as it has of one. Scales come last in a superblock and are
/// needed first: it has to be there as a whole.
template <int T>
inline void prefetch_block(const PanelLayout& layout, const uint8_t* step, uint32_t b) {
  const size_t bytes = layout.step_bytes();
  const size_t share = bytes / layout.step_blocks;
  prefetch_weights<T>(step + b * share, share,
                      prefetch_bytes + (layout.step_blocks > 1 ? bytes : 0));
}

/// acc = fma(isum, d a, acc), then fma(m, a sum, acc).
template <class Isa, class Source>
inline void add_part(const typename Source::Products::Sum& sum, const QuantizedBlock& x, int part,
                     const typename Isa::F& scale, const typename Isa::F& minimum,
                     typename Isa::F& acc) {
  const int32_t x_sum =
      Source::parts == 1 ? x.sum : (part == 0 ? x.first_sum : x.sum - x.first_sum);
  const auto product = Isa::to_float(Source::Products::finish(sum, x_sum));
  typename Isa::F y = Isa::fma(product, Isa::mul(scale, Isa::set(x.scale)), acc);
  if constexpr (Source::has_minimum) y = Isa::fma(minimum, Isa::set(x.scaled_sum), y);
  acc = y;
}

/// Steps [begin, end) of a stored panel: the weights of a vector of rows stay in registers for all
/// tokens of the tile.
template <class Isa, class Spec, int P, int T>
inline void stored_chain(const uint8_t* panel, int part, uint32_t begin, uint32_t end,
                         const QuantizedBlock* const* x, typename Isa::F* acc) {
  using F = typename Isa::F;
  using Products = typename Spec::Products;
  constexpr PanelLayout layout = Spec::layout;
  constexpr int chunks = 8 / Spec::parts;
  const QuantizedBlock* q[T];
  for (int t = 0; t < T; ++t) q[t] = x[t] + begin * layout.step_blocks;
  const uint8_t* step = panel + begin * layout.step_bytes();
  for (uint32_t s = begin; s < end; ++s, step += layout.step_bytes()) {
    for (uint32_t b = 0; b < layout.step_blocks; ++b) {
      prefetch_block<T>(layout, step, b);
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) {
        const int first = (part + p) * Isa::width;
        typename Isa::Bytes w[8];
        Spec::weights(step + b * layout.code_bytes(), first, w);
#pragma GCC unroll 2
        for (int h = 0; h < Spec::parts; ++h) {
          const F scale = Spec::scale(step, b, h, first);
          const F minimum = Spec::minimum(step, b, first);
#pragma GCC unroll 8
          for (int t = 0; t < T; ++t) {
            typename Products::Sum sum = Products::zero();
#pragma GCC unroll 8
            for (int j = 0; j < chunks; ++j) {
              Products::dot(sum, j, Products::prepare(w[h * chunks + j]),
                            q[t]->values + 4 * (h * chunks + j));
            }
            add_part<Isa, Spec>(sum, *q[t], h, scale, minimum, acc[p * T + t]);
          }
        }
      }
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) ++q[t];
    }
  }
}

/// Blocks [begin, end) of a source whose chunks can be loaded one by one: all sums of the tile stay
/// in registers, a chunk of weights is loaded once, an activation is broadcast once for P vectors.
template <class Isa, class Source, int P, int T>
inline void chunked_chain(const uint8_t* blocks, int part, uint32_t begin, uint32_t end,
                          const QuantizedBlock* const* x, typename Isa::F* acc) {
  using F = typename Isa::F;
  using Products = typename Source::Products;
  constexpr int chunks = 8 / Source::parts;
  const QuantizedBlock* q[T];
  for (int t = 0; t < T; ++t) q[t] = x[t] + begin;
  const uint8_t* block = blocks + begin * Source::block_bytes;
  for (uint32_t b = begin; b < end; ++b, block += Source::block_bytes) {
    prefetch_weights<T>(block, Source::block_bytes);
#pragma GCC unroll 2
    for (int h = 0; h < Source::parts; ++h) {
      typename Products::Sum sum[P * T];
#pragma GCC unroll 16
      for (int i = 0; i < P * T; ++i) sum[i] = Products::zero();
#pragma GCC unroll 8
      for (int j = 0; j < chunks; ++j) {
        const int chunk = h * chunks + j;
        typename Products::Weights w[P];
#pragma GCC unroll 4
        for (int p = 0; p < P; ++p) {
          w[p] =
              Products::prepare(Isa::load_bytes(block + 64 * chunk + 4 * (part + p) * Isa::width));
        }
#pragma GCC unroll 8
        for (int t = 0; t < T; ++t) {
#pragma GCC unroll 4
          for (int p = 0; p < P; ++p) {
            Products::dot(sum[p * T + t], j, w[p], q[t]->values + 4 * chunk);
          }
        }
      }
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) {
        const int first = (part + p) * Isa::width;
        const F scale = Source::scale(block, h, first);
        const F minimum = Source::minimum(block, first);
#pragma GCC unroll 8
        for (int t = 0; t < T; ++t) {
          add_part<Isa, Source>(sum[p * T + t], *q[t], h, scale, minimum, acc[p * T + t]);
        }
      }
    }
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) ++q[t];
  }
}

/// A block is 640 bytes: 8 chunks of 64 bytes (row r's bytes 4r..4r+3 of chunk j hold k =
/// 4j..4j+3), 16 scales, 16 minima or scales of the second half (F32).
template <class Isa, class Spec>
struct QuantizedStrip {
  using F = typename Isa::F;
  using Activation = QuantizedBlock;
  using Products = typename Spec::Products;
  static constexpr int tile_tokens = Isa::strip_tile_tokens;
  static constexpr bool whole_panel = true;
  static constexpr size_t block_bytes = 8 * 64 + 2 * 16 * sizeof(float);
  static constexpr size_t col_bytes = block_bytes / quant_block;
  static constexpr int parts = Spec::parts;
  static constexpr bool has_minimum = Spec::has_minimum;
  static_assert(parts == 1 || !has_minimum);

  static const Activation* activation(const MatmulArgs& a, uint32_t token) {
    return quantized_activation(a, token);
  }
  static F scale(const uint8_t* block, int part, int first) {
    return Isa::load(reinterpret_cast<const float*>(block + 512) + 16 * part + first);
  }
  static F minimum(const uint8_t* block, int first) {
    if constexpr (!has_minimum) return Isa::set(0.0f);
    return Isa::load(reinterpret_cast<const float*>(block + 512) + 16 + first);
  }

  static void unpack(const uint8_t* panel, uint32_t cols, uint8_t* strip) {
    constexpr PanelLayout layout = Spec::layout;
    for (uint32_t i = 0; i < cols / quant_block; ++i, strip += block_bytes) {
      const uint8_t* step = panel + i / layout.step_blocks * layout.step_bytes();
      const uint32_t b = i % layout.step_blocks;
      prefetch_block<1>(layout, step, b);
      for (int first = 0; first < static_cast<int>(panel_rows); first += Isa::width) {
        typename Isa::Bytes w[8];
        Spec::weights(step + b * layout.code_bytes(), first, w);
        for (int j = 0; j < 8; ++j) Isa::store_bytes(strip + 64 * j + 4 * first, w[j]);
        auto* floats = reinterpret_cast<float*>(strip + 512) + first;
        Isa::store(floats, Spec::scale(step, b, 0, first));
        if constexpr (parts == 2) Isa::store(floats + 16, Spec::scale(step, b, 1, first));
        if constexpr (has_minimum) Isa::store(floats + 16, Spec::minimum(step, b, first));
      }
    }
  }

  template <int P, int T>
  static void chain(const uint8_t* strip, int part, uint32_t begin, uint32_t end,
                    const Activation* const* x, F* acc) {
    constexpr uint32_t blocks = Spec::layout.step_blocks;
    chunked_chain<Isa, QuantizedStrip, P, T>(strip, part, begin * blocks, end * blocks, x, acc);
  }
};

/// The kernel's two sources for a Spec: the stored panel for a few tokens, the strip for many.
template <class Isa, class Spec>
struct QuantizedFormat {
  using F = typename Isa::F;
  using Activation = QuantizedBlock;
  using Strip = QuantizedStrip<Isa, Spec>;
  static constexpr int tile_tokens = 4;
  static constexpr uint32_t strip_tokens_min = 12;
  static constexpr bool whole_panel = false;

  static const Activation* activation(const MatmulArgs& a, uint32_t token) {
    return quantized_activation(a, token);
  }
  static void unpack(const uint8_t* panel, uint32_t cols, uint8_t* strip) {
    Strip::unpack(panel, cols, strip);
  }

  template <int P, int T>
  static void chain(const uint8_t* panel, int part, uint32_t begin, uint32_t end,
                    const Activation* const* x, F* acc) {
    stored_chain<Isa, Spec, P, T>(panel, part, begin, end, x, acc);
  }
};

}  // namespace troupe::cpu
