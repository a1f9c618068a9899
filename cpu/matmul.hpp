// y = W x for a batch of tokens: what all weight formats share. Weights lie in panels of 16 rows,
// lanes are rows, so no lane ever adds to another (docs/numerics.md section 2). Every output is one
// ascending chain over K, or 8 segments and a tree for row-parallel matrices, whatever the tile.
//
// A few tokens read the stored panel and take weights apart in registers (Format). Many tokens read
// a strip (Format::Strip): the panel taken apart once into this thread's scratch memory, then
// passed over by tiles of tokens.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/panel_layout.hpp"
#include "cpu/quantize_activations.hpp"
#include "cpu/simd_math.hpp"

namespace troupe::cpu {

/// A packed matrix as the kernels see it; borrowed from a PackedMatrix.
struct MatrixView {
  const uint8_t* panels = nullptr;  ///< [ceil(rows / 16)][panel_bytes]
  size_t panel_bytes = 0;
  uint32_t rows = 0;
  uint32_t cols = 0;
  /// Steps of K (elements, or the blocks of the stored type) at which segment s begins:
  /// [num_segments + 1]. One segment: column-parallel; 8: row-parallel.
  const uint32_t* segment_begin = nullptr;
  uint32_t num_segments = 1;
};

struct alignas(64) CacheLine {
  uint8_t bytes[64];
};

struct MatmulArgs {
  MatrixView matrix;
  const float* values = nullptr;           ///< [tokens, cols], float weights
  const QuantizedBlock* blocks = nullptr;  ///< [tokens, cols / 32], quantised weights
  uint32_t tokens = 0;
  float* out = nullptr;  ///< out[token * out_stride + row]
  size_t out_stride = 0;
  bool add = false;  ///< add to what is in `out` (residual) instead of replacing it
  uint32_t panel_begin = 0, panel_end = 0;  ///< this thread's share
  /// This thread's memory for strips, matmul_strip_lines(cols). Where it is nullptr or a strip
  /// would take more than strip_bytes_max, the stored panels are read, whatever the tokens.
  CacheLine* strip = nullptr;
};

/// Beyond this a strip would not stay in the L2 cache.
inline constexpr size_t strip_bytes_max = size_t{768} << 10;
/// Enough for a strip of floats, the widest, or for any that is used.
inline size_t matmul_strip_lines(uint32_t cols) {
  const size_t bytes = size_t{cols} * panel_rows * sizeof(float);
  return (bytes < strip_bytes_max ? bytes : strip_bytes_max) / sizeof(CacheLine);
}

/// Tokens that pass over a panel before the next panel: their activations stay in the L2 cache.
inline constexpr uint32_t token_chunk = 128;

/// One token, or the making of a strip, reads each weight once, from memory: asks for what lies
/// this far ahead.
inline constexpr size_t prefetch_bytes = 2048;

template <int T>
inline void prefetch_weights(const uint8_t* block, size_t bytes, size_t ahead = prefetch_bytes) {
  if constexpr (T == 1) {
    for (size_t i = 0; i < bytes; i += 64) __builtin_prefetch(block + ahead + i);
  }
}

/// P vectors of rows from vector `part` of a panel times T tokens. Source is a Format or its Strip:
/// chain() adds steps [begin, end) to acc[p * T + t].
template <class Isa, class Source, int P, int T>
void matmul_tile(const MatmulArgs& a, const uint8_t* weights, uint32_t panel, int part,
                 uint32_t token) {
  using F = typename Isa::F;
  const MatrixView& m = a.matrix;
  const typename Source::Activation* x[T];
  for (int t = 0; t < T; ++t) x[t] = Source::activation(a, token + static_cast<uint32_t>(t));

  // Outputs of many tokens lie far apart and have left the caches: asked for while there is work.
  if constexpr (T > 1) {
    const float* out = a.out + token * a.out_stride + panel * panel_rows;
    for (int t = 0; t < T; ++t, out += a.out_stride) __builtin_prefetch(out, 1);
  }
  F leaf[tree_leaves][P * T];
  bool present[tree_leaves] = {};
  for (uint32_t s = 0; s < m.num_segments; ++s) {
    present[s] = m.segment_begin[s] < m.segment_begin[s + 1];
    if (!present[s]) continue;
    for (F& lanes : leaf[s]) lanes = Isa::set(0.0f);
    Source::template chain<P, T>(weights, part, m.segment_begin[s], m.segment_begin[s + 1], x,
                                 leaf[s]);
  }
  if (m.num_segments > 1) tree_of_eight<Isa, P * T>(leaf, present);

  for (int p = 0; p < P; ++p) {
    const uint32_t row = panel * panel_rows + static_cast<uint32_t>((part + p) * Isa::width);
    if (row >= m.rows) break;
    const int count = m.rows - row < Isa::width ? static_cast<int>(m.rows - row) : Isa::width;
    for (int t = 0; t < T; ++t) {
      float* out = a.out + (token + static_cast<uint32_t>(t)) * a.out_stride + row;
      F y = leaf[0][p * T + t];
      if (count == Isa::width) {
        if (a.add) y = Isa::add(Isa::load(out), y);
        Isa::store(out, y);
      } else {
        if (a.add) y = Isa::add(load_some<Isa>(out, count, 0.0f), y);
        store_some<Isa>(out, count, y);
      }
    }
  }
}

/// Tokens of [begin, end) in tiles of T, the rest in tiles of half the size, and so on.
template <class Isa, class Source, int T>
void matmul_tokens(const MatmulArgs& a, const uint8_t* weights, uint32_t panel, uint32_t begin,
                   uint32_t end) {
  constexpr int parts = static_cast<int>(panel_rows) / Isa::width;
  // One token has registers to spare, so it takes the whole panel in one pass.
  constexpr int P = T == 1 || Source::whole_panel ? parts : 1;
  for (; begin + T <= end; begin += T) {
    for (int part = 0; part < parts; part += P) {
      matmul_tile<Isa, Source, P, T>(a, weights, panel, part, begin);
    }
  }
  if constexpr (T > 1) {
    if (begin < end) matmul_tokens<Isa, Source, T / 2>(a, weights, panel, begin, end);
  }
}

template <class Isa, class Format>
void matmul(const MatmulArgs& a) {
  using Strip = typename Format::Strip;
  const bool strip = a.strip != nullptr && a.tokens >= Format::strip_tokens_min &&
                     a.matrix.cols * Strip::col_bytes <= strip_bytes_max;
  for (uint32_t begin = 0; begin < a.tokens; begin += token_chunk) {
    const uint32_t end = a.tokens - begin < token_chunk ? a.tokens : begin + token_chunk;
    for (uint32_t panel = a.panel_begin; panel < a.panel_end; ++panel) {
      const uint8_t* weights = a.matrix.panels + panel * a.matrix.panel_bytes;
      if (strip) {
        Format::unpack(weights, a.matrix.cols, a.strip->bytes);
        matmul_tokens<Isa, Strip, Strip::tile_tokens>(a, a.strip->bytes, panel, begin, end);
      } else {
        matmul_tokens<Isa, Format, Format::tile_tokens>(a, weights, panel, begin, end);
      }
    }
  }
}

}  // namespace troupe::cpu
