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

  /// One query against the tile at hand.
  struct Query {
    const float* vector;  ///< [head_dim]
    uint32_t valid;       ///< positions of the tile that it sees
    SoftmaxState split;
    float p[tile_positions];
    float factor;  ///< e^(old - new maximum)
  };

  /// Scaled scores of Q queries, so that a load of K serves them all; positions from `valid` on get
  /// -inf.
  template <int Q>
  static void scores(const AttentionArgs& a, const float* k, Query* query) {
    constexpr int step = 4;
    for (int first = 0; first < vectors; first += step) {
      F acc[Q * step];
      for (F& lanes : acc) lanes = Isa::set(0.0f);
      for (uint32_t d = 0; d < a.head_dim; ++d) {
        const float* row = k + size_t{d} * tile_positions + first * Isa::width;
        F q[Q];
#pragma GCC unroll 3
        for (int n = 0; n < Q; ++n) q[n] = Isa::set(query[n].vector[d]);
#pragma GCC unroll 4
        for (int i = 0; i < step; ++i) {
          const F key = Isa::load(row + i * Isa::width);
#pragma GCC unroll 3
          for (int n = 0; n < Q; ++n) acc[n * step + i] = Isa::fma(q[n], key, acc[n * step + i]);
        }
      }
      const F scale = Isa::set(a.scale);
      for (int n = 0; n < Q; ++n) {
        for (int i = 0; i < step; ++i) {
          Isa::store(query[n].p + (first + i) * Isa::width, Isa::mul(acc[n * step + i], scale));
        }
      }
    }
    for (int n = 0; n < Q; ++n) {
      for (uint32_t i = query[n].valid; i < tile_positions; ++i) query[n].p[i] = minus_infinity;
    }
  }

  /// Scores to weights, maximum and sum of one query.
  static void soften(Query& query) {
    float* p = query.p;
    Lanes<Isa> highest(minus_infinity);
    for (int i = 0; i < vectors; ++i) {
      F& part = highest.part[i % Lanes<Isa>::parts];
      part = Isa::max(Isa::load(p + i * Isa::width), part);
    }
    SoftmaxState& split = query.split;
    const float maximum = max_of<Isa>(split.maximum, highest.maximum());
    Lanes<Isa> sum(0.0f);
    for (int i = 0; i < vectors; ++i) {
      const F e = exp_lanes<Isa>(Isa::sub(Isa::load(p + i * Isa::width), Isa::set(maximum)));
      Isa::store(p + i * Isa::width, e);
      F& part = sum.part[i % Lanes<Isa>::parts];
      part = Isa::add(part, e);
    }
    query.factor = exp_one<Isa>(split.maximum - maximum);
    split.maximum = maximum;
    split.sum = split.sum * query.factor + sum.sum();
  }

  /// acc = acc * factor, then fma(p[i], v[i], acc) over ascending positions, for V vectors of the
  /// dimensions from d on. Queries that see more than all do add the rest on their own.
  template <int Q, int V>
  static void accumulate(const float* v, uint32_t dim, uint32_t d, Query* query) {
    F sum[Q * V];
    uint32_t common = tile_positions;
    for (int n = 0; n < Q; ++n) {
      const F factor = Isa::set(query[n].factor);
      const float* acc = query[n].split.acc + d;
#pragma GCC unroll 4
      for (int j = 0; j < V; ++j)
        sum[n * V + j] = Isa::mul(Isa::load(acc + j * Isa::width), factor);
      common = query[n].valid < common ? query[n].valid : common;
    }
    const float* row = v + d;
    for (uint32_t i = 0; i < common; ++i, row += dim) {
      F p[Q];
#pragma GCC unroll 3
      for (int n = 0; n < Q; ++n) p[n] = Isa::set(query[n].p[i]);
#pragma GCC unroll 4
      for (int j = 0; j < V; ++j) {
        const F value = Isa::load(row + j * Isa::width);
#pragma GCC unroll 3
        for (int n = 0; n < Q; ++n) sum[n * V + j] = Isa::fma(p[n], value, sum[n * V + j]);
      }
    }
    for (int n = 0; n < Q; ++n) {
      const float* rest = row;
      for (uint32_t i = common; i < query[n].valid; ++i, rest += dim) {
        const F p = Isa::set(query[n].p[i]);
        for (int j = 0; j < V; ++j) {
          sum[n * V + j] = Isa::fma(p, Isa::load(rest + j * Isa::width), sum[n * V + j]);
        }
      }
      float* acc = query[n].split.acc + d;
      for (int j = 0; j < V; ++j) Isa::store(acc + j * Isa::width, sum[n * V + j]);
    }
  }

  /// One tile of online softmax for Q queries.
  template <int Q>
  static void attend(const AttentionArgs& a, const float* k, const float* v, Query* query) {
    scores<Q>(a, k, query);
    for (int n = 0; n < Q; ++n) soften(query[n]);
    const uint32_t dim = padded_dim_of(a);
    uint32_t d = 0;
    for (; d + 4 * width <= dim; d += 4 * width) accumulate<Q, 4>(v, dim, d, query);
    for (; d < dim; d += width) accumulate<Q, 1>(v, dim, d, query);
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
    // Queries are in the order of their positions: those that end before the tile come first.
    uint32_t query = tile > a.first_position ? (tile - a.first_position) * a.group : 0;
    while (query < queries) {
      constexpr uint32_t at_once = 3;
      typename Kernel::Query batch[at_once];
      const uint32_t count = queries - query < at_once ? queries - query : at_once;
      for (uint32_t n = 0; n < count; ++n) {
        const uint32_t token = (query + n) / a.group, g = (query + n) % a.group;
        const uint32_t ahead = a.first_position + token - tile;
        batch[n].vector = a.query + token * a.stride + g * a.head_dim;
        batch[n].valid = ahead < tile_positions ? ahead + 1 : tile_positions;
        batch[n].split = state(query + n, 0);
      }
      if (count == 3) Kernel::template attend<3>(a, k, v, batch);
      if (count == 2) Kernel::template attend<2>(a, k, v, batch);
      if (count == 1) Kernel::template attend<1>(a, k, v, batch);
      for (uint32_t n = 0; n < count; ++n, ++query) {
        const bool last = a.first_position + query / a.group < tile + tile_positions;
        if (last || split_ends) {
          SoftmaxState merged = state(query, 1);
          Kernel::merge(dim, tile < split_positions, merged, batch[n].split);
          save(query, 1, merged);
        }
        save(query, 0, batch[n].split);
      }
    }
  }

  for (uint32_t query = 0; query < queries; ++query) {
    const SoftmaxState merged = state(query, 1);
    float* out = a.out + query / a.group * a.stride + query % a.group * a.head_dim;
    for (uint32_t d = 0; d < a.head_dim; ++d) out[d] = merged.acc[d] / merged.sum;
  }
}

}  // namespace troupe::cpu
