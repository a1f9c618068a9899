// Attention of consecutive query tokens of one sequence and one KV head over paged KV, by
// docs/numerics.md section 4: tiles of 64 positions (one block), splits of 1,024, online softmax in
// a split, splits merged ascending. K and V are read only as stored; a slot that was not written is
// never read. A load of K or V serves up to three queries (tokens x heads of the group).
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/online_softmax.hpp"
#include "cpu/read_kv.hpp"
#include "cpu/simd_math.hpp"

namespace troupe::cpu {

inline constexpr uint32_t attention_tokens_max = 16;  ///< query tokens of one call

struct AttentionArgs {
  const std::byte* pool = nullptr;
  size_t block_bytes = 0;
  const uint32_t* block_table = nullptr;  ///< pages of positions [0, first_position + num_tokens)
  size_t k_offset = 0, v_offset = 0;      ///< bytes from a block's start to this layer and head
  kv::KvTypes types;
  uint32_t head_dim = 0;
  uint32_t group = 0;  ///< query heads of this KV head
  uint32_t first_position = 0;
  uint32_t num_tokens = 0;  ///< 1..attention_tokens_max
  float scale = 0;
  const float* query = nullptr;  ///< query[token * stride + g * head_dim + d]
  float* out = nullptr;          ///< as query
  size_t stride = 0;
  float* scratch = nullptr;  ///< attention_scratch_floats(head_dim, group)
  /// The splits to compute. Some of them only: their states are left in `partial` and `out` is not
  /// written until merge_attention has them all.
  uint32_t first_split = 0, end_split = UINT32_MAX;
  float* partial = nullptr;  ///< attention_partial_floats for all splits of the span's positions
};

inline uint32_t padded_dim(uint32_t head_dim) {
  return (head_dim + 15) / 16 * 16;
}

inline size_t attention_scratch_floats(uint32_t head_dim, uint32_t group) {
  const size_t dim = padded_dim(head_dim);
  return 2 * tile_positions * dim + size_t{attention_tokens_max} * group * 2 * (dim + 2);
}

/// Room for the states of every split: [splits][queries][maximum, sum, padded dim].
inline size_t attention_partial_floats(uint32_t head_dim, uint32_t queries, uint32_t splits) {
  return size_t{splits} * queries * (padded_dim(head_dim) + 2);
}

template <class Isa>
struct Attention {
  using F = typename Isa::F;
  static constexpr uint32_t width = Isa::width;
  static constexpr int vectors = static_cast<int>(tile_positions / width);

  static uint32_t padded_dim_of(const AttentionArgs& a) { return (a.head_dim + 15) / 16 * 16; }

  using Query = typename OnlineSoftmax<Isa>::Query;

  /// Asks for what lies `ahead` bytes from a row that is being read; 0: for nothing.
  static void prefetch(const void* row, ptrdiff_t ahead, size_t bytes) {
    if (ahead == 0) return;
    for (size_t i = 0; i < bytes; i += 64) {
      __builtin_prefetch(static_cast<const std::byte*>(row) + ahead + i);
    }
  }

  /// Scaled scores of Q queries, so that a load of K serves them all; positions from `valid` on get
  /// -inf. K is [head_dim][64] as stored, or converted.
  template <int Q, class Element>
  static void scores(const AttentionArgs& a, const Element* k, ptrdiff_t ahead, Query* query) {
    constexpr int step = 4;
    for (int first = 0; first < vectors; first += step) {
      F acc[Q * step];
      for (F& lanes : acc) lanes = Isa::set(0.0f);
      const float* vector[Q];
#pragma GCC unroll 3
      for (int n = 0; n < Q; ++n) vector[n] = query[n].vector;
      const Element* row = k + first * Isa::width;
      for (uint32_t d = 0; d < a.head_dim; ++d, row += tile_positions) {
        prefetch(row, ahead, step * Isa::width * sizeof(Element));
        F q[Q];
#pragma GCC unroll 3
        for (int n = 0; n < Q; ++n) q[n] = Isa::set(vector[n][d]);
#pragma GCC unroll 4
        for (int i = 0; i < step; ++i) {
          const F key = load_stored<Isa>(row + i * Isa::width);
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

  /// acc = acc * factor, then fma(p[i], v[i], acc) over ascending positions, for V vectors of the
  /// dimensions from d on; V's rows are `stride` apart. Queries that see more than all do add the
  /// rest on their own.
  template <int Q, int V, class Element>
  static void accumulate(const Element* v, uint32_t stride, uint32_t d, ptrdiff_t ahead,
                         Query* query) {
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
    const Element* row = v + d;
    for (uint32_t i = 0; i < common; ++i, row += stride) {
      prefetch(row, ahead, V * Isa::width * sizeof(Element));
      F p[Q];
#pragma GCC unroll 3
      for (int n = 0; n < Q; ++n) p[n] = Isa::set(query[n].p[i]);
#pragma GCC unroll 4
      for (int j = 0; j < V; ++j) {
        const F value = load_stored<Isa>(row + j * Isa::width);
#pragma GCC unroll 3
        for (int n = 0; n < Q; ++n) sum[n * V + j] = Isa::fma(p[n], value, sum[n * V + j]);
      }
    }
    for (int n = 0; n < Q; ++n) {
      const Element* rest = row;
      for (uint32_t i = common; i < query[n].valid; ++i, rest += stride) {
        const F p = Isa::set(query[n].p[i]);
        for (int j = 0; j < V; ++j) {
          sum[n * V + j] = Isa::fma(p, load_stored<Isa>(rest + j * Isa::width), sum[n * V + j]);
        }
      }
      float* acc = query[n].split.acc + d;
      for (int j = 0; j < V; ++j) Isa::store(acc + j * Isa::width, sum[n * V + j]);
    }
  }

  /// A tile as the queries read it: as it lies in the pool, or converted.
  template <class Element>
  struct Tile {
    const Element* k;
    const Element* v;
    uint32_t v_stride;
    uint32_t dims;  ///< of a row of V, a multiple of the vectors' width
    /// Bytes from here to the next tile, which no hardware foresees: pages lie anywhere. 0: none.
    ptrdiff_t ahead = 0;
  };

  /// One tile of online softmax for Q queries.
  template <int Q, class Element>
  static void attend(const AttentionArgs& a, const Tile<Element>& tile, Query* query) {
    scores<Q>(a, tile.k, tile.ahead, query);
    OnlineSoftmax<Isa>::template soften<Q>(query);
    uint32_t d = 0;
    for (; d + 4 * width <= tile.dims; d += 4 * width) {
      accumulate<Q, 4>(tile.v, tile.v_stride, d, tile.ahead, query);
    }
    for (; d < tile.dims; d += width) {
      accumulate<Q, 1>(tile.v, tile.v_stride, d, tile.ahead, query);
    }
  }

  template <class Element>
  static void attend(const AttentionArgs& a, const Tile<Element>& tile, uint32_t count,
                     Query* query) {
    if (count == 3) attend<3>(a, tile, query);
    if (count == 2) attend<2>(a, tile, query);
    if (count == 1) attend<1>(a, tile, query);
  }
};

/// One call's queries and their running states, which lie in its scratch memory.
template <class Isa>
struct AttentionPass {
  using Kernel = Attention<Isa>;
  const AttentionArgs& a;
  uint32_t dim, queries;
  float *k, *v, *states;

  explicit AttentionPass(const AttentionArgs& args)
      : a(args),
        dim(Kernel::padded_dim_of(args)),
        queries(args.num_tokens * args.group),
        k(args.scratch),
        v(k + tile_positions * dim),
        states(v + tile_positions * dim) {}

  /// `which`: 0 the split at hand, 1 the splits before it, merged.
  [[nodiscard]] SoftmaxState state(uint32_t query, uint32_t which) const {
    float* p = states + (size_t{query} * 2 + which) * (dim + 2);
    return SoftmaxState{p[0], p[1], p + 2};
  }
  void save(uint32_t query, uint32_t which, const SoftmaxState& s) const {
    float* p = states + (size_t{query} * 2 + which) * (dim + 2);
    p[0] = s.maximum;
    p[1] = s.sum;
  }

  [[nodiscard]] float* partial(uint32_t split, uint32_t query) const {
    return a.partial + (size_t{split} * queries + query) * (dim + 2);
  }
  /// Adds the split to those before it, or leaves it for merge_attention; empties it.
  void finish_split(uint32_t query, uint32_t split, SoftmaxState& finished) const {
    if (a.partial != nullptr) {
      float* p = partial(split, query);
      p[0] = finished.maximum;
      p[1] = finished.sum;
      for (uint32_t d = 0; d < dim; ++d) p[2 + d] = finished.acc[d];
      OnlineSoftmax<Isa>::clear(dim, finished);
      return;
    }
    SoftmaxState merged = state(query, 1);
    OnlineSoftmax<Isa>::merge(dim, split == 0, merged, finished);
    save(query, 1, merged);
  }
  void write_out(uint32_t query, const SoftmaxState& merged) const {
    float* out = a.out + query / a.group * a.stride + query % a.group * a.head_dim;
    for (uint32_t d = 0; d < a.head_dim; ++d) out[d] = merged.acc[d] / merged.sum;
  }

  /// Queries from `query` on, up to three at once; returns how many.
  template <class Element>
  uint32_t attend_some(uint32_t first, const typename Kernel::template Tile<Element>& data,
                       uint32_t query) const {
    constexpr uint32_t at_once = 3;
    typename Kernel::Query batch[at_once];
    const uint32_t count = queries - query < at_once ? queries - query : at_once;
    for (uint32_t n = 0; n < count; ++n) {
      const uint32_t token = (query + n) / a.group, g = (query + n) % a.group;
      const uint32_t ahead = a.first_position + token - first;
      batch[n].vector = a.query + token * a.stride + g * a.head_dim;
      batch[n].valid = ahead < tile_positions ? ahead + 1 : tile_positions;
      batch[n].split = state(query + n, 0);
    }
    Kernel::attend(a, data, count, batch);
    const bool split_ends = (first + tile_positions) % split_positions == 0;
    for (uint32_t n = 0; n < count; ++n) {
      const uint32_t position = a.first_position + (query + n) / a.group;
      if (position < first + tile_positions || split_ends) {
        finish_split(query + n, first / split_positions, batch[n].split);
      }
      save(query + n, 0, batch[n].split);
    }
    return count;
  }

  /// The tile as it lies in the pool.
  template <class Element>
  void attend_stored(uint32_t first, const std::byte* block, ptrdiff_t ahead) const {
    typename Kernel::template Tile<Element> tile{
        reinterpret_cast<const Element*>(block + a.k_offset),
        reinterpret_cast<const Element*>(block + a.v_offset), a.head_dim, a.head_dim, ahead};
    for (uint32_t query = first_query(first); query < queries; tile.ahead = 0) {
      query += attend_some(first, tile, query);
    }
  }

  /// Queries are in the order of their positions: those that end before the tile come first.
  [[nodiscard]] uint32_t first_query(uint32_t first) const {
    return first > a.first_position ? (first - a.first_position) * a.group : 0;
  }

  /// All queries that see the tile which begins at position `first`.
  void attend_tile(uint32_t first) const {
    const uint32_t end = a.first_position + a.num_tokens;
    const uint32_t* page = a.block_table + first / tile_positions;
    const std::byte* block = a.pool + *page * a.block_bytes;
    const uint32_t written = end - first < tile_positions ? end - first : tile_positions;
    if (a.types.keys == a.types.values && written == tile_positions &&
        a.head_dim % Kernel::width == 0) {
      ptrdiff_t ahead = 0;
      if (first + tile_positions < end) {
        ahead = (static_cast<ptrdiff_t>(page[1]) - static_cast<ptrdiff_t>(*page)) *
                static_cast<ptrdiff_t>(a.block_bytes);
      }
      if (a.types.keys == kv::KvType::f16) return attend_stored<uint16_t>(first, block, ahead);
      if (a.types.keys == kv::KvType::bf16) return attend_stored<Bf16>(first, block, ahead);
    }
    read_keys<Isa>(a.types.keys, block + a.k_offset, a.head_dim, written, k);
    read_values<Isa>(a.types.values, block + a.v_offset, a.head_dim, dim, written, v);
    const typename Kernel::template Tile<float> converted{k, v, dim, dim};
    for (uint32_t query = first_query(first); query < queries;) {
      query += attend_some(first, converted, query);
    }
  }
};

template <class Isa>
void attention(const AttentionArgs& a) {
  const AttentionPass<Isa> pass(a);
  for (uint32_t query = 0; query < pass.queries; ++query) {
    SoftmaxState split = pass.state(query, 0);
    OnlineSoftmax<Isa>::clear(pass.dim, split);
    pass.save(query, 0, split);
  }
  const uint32_t splits = (a.first_position + a.num_tokens - 1) / split_positions + 1;
  const uint32_t end_split = a.end_split < splits ? a.end_split : splits;
  const uint32_t end = a.first_position + a.num_tokens;
  for (uint32_t split = a.first_split; split < end_split; ++split) {
    const uint32_t begin = split * split_positions;
    for (uint32_t at = 0; at < split_positions && begin + at < end; at += tile_positions) {
      pass.attend_tile(begin + at);
    }
  }
  if (a.partial != nullptr) return;
  for (uint32_t query = 0; query < pass.queries; ++query) {
    pass.write_out(query, pass.state(query, 1));
  }
}

/// Merges the splits that calls with the same arguments left in `partial`, and writes `out`.
template <class Isa>
void merge_attention(const AttentionArgs& a) {
  const AttentionPass<Isa> pass(a);
  for (uint32_t query = 0; query < pass.queries; ++query) {
    const uint32_t position = a.first_position + query / a.group;
    SoftmaxState merged = pass.state(query, 1);
    for (uint32_t split = 0; split <= position / split_positions; ++split) {
      float* p = pass.partial(split, query);
      SoftmaxState finished{p[0], p[1], p + 2};
      OnlineSoftmax<Isa>::merge(pass.dim, split == 0, merged, finished);
    }
    pass.write_out(query, merged);
  }
}

}  // namespace troupe::cpu
