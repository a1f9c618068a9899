// Attention of consecutive query tokens of one sequence and one KV head over paged KV, by
// docs/numerics.md section 4: tiles of 64 positions (one block), splits of 1,024, online softmax in
// a split, splits merged ascending. K and V are read only as stored; a slot that was not written is
// never read. A tile is converted to F32 once and used by all queries (tokens x heads of the
// group).
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/simd_math.hpp"

namespace troupe::cpu {

inline constexpr uint32_t tile_positions = 64;
inline constexpr uint32_t split_positions = 1024;
inline constexpr uint32_t attention_tokens_max = 16;  ///< query tokens of one call

struct AttentionArgs {
  const std::byte* pool = nullptr;
  size_t block_bytes = 0;
  const uint32_t* block_table = nullptr;  ///< pages of positions [0, first_position + num_tokens)
  size_t k_index = 0, v_index = 0;        ///< elements from a block's start to this layer and head
  bool half = true;                       ///< stored as F16, else F32
  uint32_t head_dim = 0;
  uint32_t group = 0;  ///< query heads of this KV head
  uint32_t first_position = 0;
  uint32_t num_tokens = 0;  ///< 1..attention_tokens_max
  float scale = 0;
  const float* query = nullptr;  ///< query[token * stride + g * head_dim + d]
  float* out = nullptr;          ///< as query
  size_t stride = 0;
  float* scratch = nullptr;  ///< attention_scratch_floats(head_dim, group)
};

inline uint32_t padded_dim(uint32_t head_dim) {
  return (head_dim + 15) / 16 * 16;
}

inline size_t attention_scratch_floats(uint32_t head_dim, uint32_t group) {
  const size_t dim = padded_dim(head_dim);
  return 2 * tile_positions * dim + size_t{attention_tokens_max} * group * 2 * (dim + 2);
}

/// Online softmax of one query: within the split (running) and over the splits before (merged).
struct SoftmaxState {
  float maximum;
  float sum;
  float* acc;  ///< [padded dim]
};

template <class Isa>
struct Attention {
  using F = typename Isa::F;
  static constexpr uint32_t width = Isa::width;
  static constexpr int vectors = static_cast<int>(tile_positions / width);

  static float element(float x) { return x; }
  static float element(uint16_t h) { return Isa::to_float(h); }

  /// `valid` columns of K [dim][64] and rows of V [64][dim] to F32.
  template <class Element>
  static void convert_tile(const AttentionArgs& a, const Element* block, uint32_t valid, float* k,
                           float* v) {
    const uint32_t whole = valid / width * width;
    for (uint32_t d = 0; d < a.head_dim; ++d) {
      const Element* in = block + a.k_index + size_t{d} * tile_positions;
      float* out = k + size_t{d} * tile_positions;
      for (uint32_t i = 0; i < whole; i += width) Isa::store(out + i, Isa::load(in + i));
      for (uint32_t i = whole; i < valid; ++i) out[i] = element(in[i]);
    }
    const uint32_t whole_dim = a.head_dim / width * width;
    for (uint32_t i = 0; i < valid; ++i) {
      const Element* in = block + a.v_index + size_t{i} * a.head_dim;
      float* out = v + size_t{i} * padded_dim_of(a);
      for (uint32_t d = 0; d < whole_dim; d += width) Isa::store(out + d, Isa::load(in + d));
      for (uint32_t d = whole_dim; d < a.head_dim; ++d) out[d] = element(in[d]);
    }
  }

  static uint32_t padded_dim_of(const AttentionArgs& a) { return (a.head_dim + 15) / 16 * 16; }

  /// Scaled scores of one query against a tile; positions from `valid` on get -inf.
  static void scores(const AttentionArgs& a, const float* query, const float* k, uint32_t valid,
                     float* score) {
    F acc[vectors];
    for (F& lanes : acc) lanes = Isa::set(0.0f);
    for (uint32_t d = 0; d < a.head_dim; ++d) {
      const F q = Isa::set(query[d]);
      const float* row = k + size_t{d} * tile_positions;
#pragma GCC unroll 8
      for (int i = 0; i < vectors; ++i)
        acc[i] = Isa::fma(q, Isa::load(row + i * Isa::width), acc[i]);
    }
    const F scale = Isa::set(a.scale);
    for (int i = 0; i < vectors; ++i) Isa::store(score + i * Isa::width, Isa::mul(acc[i], scale));
    for (uint32_t i = valid; i < tile_positions; ++i) {
      score[i] = minus_infinity;
    }
  }

  /// acc[V vectors] = acc * factor, then fma(p[i], v[i], acc) over ascending positions.
  template <int V>
  static void accumulate(const float* p, const float* v, uint32_t stride, uint32_t valid,
                         float factor, float* acc) {
    F sum[V];
#pragma GCC unroll 8
    for (int j = 0; j < V; ++j)
      sum[j] = Isa::mul(Isa::load(acc + j * Isa::width), Isa::set(factor));
    for (uint32_t i = 0; i < valid; ++i, v += stride) {
      const F weight = Isa::set(p[i]);
#pragma GCC unroll 8
      for (int j = 0; j < V; ++j) sum[j] = Isa::fma(weight, Isa::load(v + j * Isa::width), sum[j]);
    }
#pragma GCC unroll 8
    for (int j = 0; j < V; ++j) Isa::store(acc + j * Isa::width, sum[j]);
  }

  /// One tile of online softmax for one query.
  static void attend(const AttentionArgs& a, const float* query, const float* k, const float* v,
                     uint32_t valid, SoftmaxState& state) {
    float p[tile_positions];
    scores(a, query, k, valid, p);
    Lanes<Isa> highest(minus_infinity);
    for (int i = 0; i < vectors; ++i) {
      F& part = highest.part[i % Lanes<Isa>::parts];
      part = Isa::max(Isa::load(p + i * Isa::width), part);
    }
    const float maximum = max_of<Isa>(state.maximum, highest.maximum());
    Lanes<Isa> sum(0.0f);
    for (int i = 0; i < vectors; ++i) {
      const F e = exp_lanes<Isa>(Isa::sub(Isa::load(p + i * Isa::width), Isa::set(maximum)));
      Isa::store(p + i * Isa::width, e);
      F& part = sum.part[i % Lanes<Isa>::parts];
      part = Isa::add(part, e);
    }
    const float factor = exp_one<Isa>(state.maximum - maximum);
    state.maximum = maximum;
    state.sum = state.sum * factor + sum.sum();

    const uint32_t dim = padded_dim_of(a);
    uint32_t d = 0;
    for (; d + 8 * width <= dim; d += 8 * width) {
      accumulate<8>(p, v + d, dim, valid, factor, state.acc + d);
    }
    for (; d + 4 * width <= dim; d += 4 * width) {
      accumulate<4>(p, v + d, dim, valid, factor, state.acc + d);
    }
    for (; d < dim; d += width) accumulate<1>(p, v + d, dim, valid, factor, state.acc + d);
  }

  /// Adds a finished split to the splits before it and empties it. `first`: there are none.
  static void merge(uint32_t dim, bool first, SoftmaxState& merged, SoftmaxState& split) {
    if (first) {
      for (uint32_t d = 0; d < dim; ++d) merged.acc[d] = split.acc[d];
      merged.maximum = split.maximum;
      merged.sum = split.sum;
    } else {
      const float maximum = max_of<Isa>(merged.maximum, split.maximum);
      const float before = exp_one<Isa>(merged.maximum - maximum);
      const float now = exp_one<Isa>(split.maximum - maximum);
      for (uint32_t d = 0; d < dim; ++d) {
        merged.acc[d] = merged.acc[d] * before + split.acc[d] * now;
      }
      merged.sum = merged.sum * before + split.sum * now;
      merged.maximum = maximum;
    }
    clear(dim, split);
  }

  static void clear(uint32_t dim, SoftmaxState& state) {
    state.maximum = minus_infinity;
    state.sum = 0.0f;
    for (uint32_t d = 0; d < dim; ++d) state.acc[d] = 0.0f;
  }
};

template <class Isa>
void attention(const AttentionArgs& a) {
  using Kernel = Attention<Isa>;
  const uint32_t dim = Kernel::padded_dim_of(a);
  const uint32_t queries = a.num_tokens * a.group;
  float* k = a.scratch;
  float* v = k + tile_positions * dim;
  float* states = v + tile_positions * dim;
  const auto state = [&](uint32_t query, uint32_t which) {
    float* p = states + (size_t{query} * 2 + which) * (dim + 2);
    return SoftmaxState{p[0], p[1], p + 2};
  };
  const auto save = [&](uint32_t query, uint32_t which, const SoftmaxState& s) {
    float* p = states + (size_t{query} * 2 + which) * (dim + 2);
    p[0] = s.maximum;
    p[1] = s.sum;
  };
  for (uint32_t query = 0; query < queries; ++query) {
    SoftmaxState split = state(query, 0);
    Kernel::clear(dim, split);
    save(query, 0, split);
  }

  const uint32_t end = a.first_position + a.num_tokens;
  for (uint32_t tile = 0; tile < end; tile += tile_positions) {
    const std::byte* block = a.pool + a.block_table[tile / tile_positions] * a.block_bytes;
    const uint32_t written = end - tile < tile_positions ? end - tile : tile_positions;
    if (a.half) {
      Kernel::convert_tile(a, reinterpret_cast<const uint16_t*>(block), written, k, v);
    } else {
      Kernel::convert_tile(a, reinterpret_cast<const float*>(block), written, k, v);
    }
    const bool split_ends = (tile + tile_positions) % split_positions == 0;
    for (uint32_t query = 0; query < queries; ++query) {
      const uint32_t position = a.first_position + query / a.group;
      if (position < tile) continue;
      const uint32_t valid =
          position - tile < tile_positions ? position - tile + 1 : tile_positions;
      const float* q = a.query + query / a.group * a.stride + query % a.group * a.head_dim;
      SoftmaxState split = state(query, 0);
      Kernel::attend(a, q, k, v, valid, split);
      const bool last = position < tile + tile_positions;
      if (last || split_ends) {
        SoftmaxState merged = state(query, 1);
        Kernel::merge(dim, tile < split_positions, merged, split);
        save(query, 1, merged);
      }
      save(query, 0, split);
    }
  }

  for (uint32_t query = 0; query < queries; ++query) {
    const SoftmaxState merged = state(query, 1);
    float* out = a.out + query / a.group * a.stride + query % a.group * a.head_dim;
    for (uint32_t d = 0; d < a.head_dim; ++d) out[d] = merged.acc[d] / merged.sum;
  }
}

}  // namespace troupe::cpu
