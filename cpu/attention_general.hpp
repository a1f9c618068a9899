// Attention with everything that models ask for beyond cpu/attention.hpp: windows, soft caps,
// sinks, selected positions, values that are part of the keys (latent attention). By the same
// sections of docs/numerics.md and with the same bits where none of it is asked for. Up to three
// queries that see the same positions share each load of K and V.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/activations.hpp"
#include "cpu/attention.hpp"

namespace troupe::cpu {

struct GeneralAttentionArgs {
  const std::byte* pool = nullptr;
  size_t block_bytes = 0;
  const uint32_t* block_table = nullptr;  ///< pages of positions [0, first_position + num_tokens)
  size_t k_offset = 0, v_offset = 0;      ///< bytes from a block's start to this layer and head
  kv::KvTypes types;
  bool value_in_key = false;  ///< values are the first value_dim elements of the keys
  uint32_t key_dim = 0, value_dim = 0;
  uint32_t group = 0;  ///< query heads of this call
  uint32_t first_position = 0;
  uint32_t num_tokens = 0;  ///< 1..attention_tokens_max
  float scale = 0;
  float cap = 0;                       ///< 0: none
  uint32_t window = 0;                 ///< 0: all
  const float* sinks = nullptr;        ///< [group], or none
  const uint64_t* selected = nullptr;  ///< selected[token * selected_stride + tile], bit = position
  size_t selected_stride = 0;
  const float* query = nullptr;  ///< query[token * query_stride + g * key_dim + d]
  size_t query_stride = 0;
  float* out = nullptr;  ///< out[token * out_stride + g * value_dim + d]
  size_t out_stride = 0;
  float* scratch = nullptr;  ///< general_attention_scratch_floats(key_dim, value_dim, group)
  /// As in AttentionArgs; `partial` has general_attention_partial_floats.
  uint32_t first_split = 0, end_split = UINT32_MAX;
  float* partial = nullptr;
};

inline size_t general_attention_scratch_floats(uint32_t key_dim, uint32_t value_dim,
                                               uint32_t group) {
  const size_t value = padded_dim(value_dim);
  return tile_positions * (key_dim + value) +
         size_t{attention_tokens_max} * group * 2 * (value + 3);
}

/// Room for the states of every split: [splits][queries][used, maximum, sum, padded value].
inline size_t general_attention_partial_floats(uint32_t value_dim, uint32_t queries,
                                               uint32_t splits) {
  return size_t{splits} * queries * (padded_dim(value_dim) + 3);
}

/// One call's queries and their running states, which lie in its scratch memory.
template <class Isa>
struct GeneralAttention {
  using F = typename Isa::F;
  using Kernel = Attention<Isa>;
  static constexpr uint32_t width = Isa::width;
  const GeneralAttentionArgs& a;
  uint32_t dim;  ///< of a padded value
  float *k, *v, *states;

  explicit GeneralAttention(const GeneralAttentionArgs& args)
      : a(args),
        dim((args.value_dim + 15) / 16 * 16),
        k(args.scratch),
        v(k + size_t{tile_positions} * args.key_dim),
        states(v + size_t{tile_positions} * dim) {}

  /// [used, maximum, sum, acc]; `which`: 0 the split at hand, 1 the splits before it, merged.
  [[nodiscard]] float* state(uint32_t query, uint32_t which) const {
    return states + (size_t{query} * 2 + which) * (dim + 3);
  }
  static SoftmaxState read(float* s) { return SoftmaxState{s[1], s[2], s + 3}; }
  static void write(float* s, const SoftmaxState& from) {
    s[1] = from.maximum;
    s[2] = from.sum;
  }

  void convert(const std::byte* block, uint32_t valid) const {
    read_keys<Isa>(a.types.keys, block + a.k_offset, a.key_dim, valid, k);
    if (!a.value_in_key) {
      read_values<Isa>(a.types.values, block + a.v_offset, a.value_dim, dim, valid, v);
      return;
    }
    for (uint32_t i = 0; i < valid; ++i) {
      float* out = v + size_t{i} * dim;
      for (uint32_t d = 0; d < a.value_dim; ++d) out[d] = k[size_t{d} * tile_positions + i];
    }
  }

  /// Scaled and capped scores of all positions of the tile; those that are not seen are replaced.
  template <int Q>
  void scores(uint64_t seen, typename Kernel::Query* query) const {
    constexpr int step = 4;
    for (int first = 0; first < Kernel::vectors; first += step) {
      F acc[Q * step];
      for (F& lanes : acc) lanes = Isa::set(0.0f);
      const float* row = k + first * Isa::width;
      for (uint32_t d = 0; d < a.key_dim; ++d, row += tile_positions) {
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
      for (int n = 0; n < Q; ++n) {
        for (int i = 0; i < step; ++i) {
          F score = Isa::mul(acc[n * step + i], Isa::set(a.scale));
          if (a.cap > 0.0f) score = cap_lanes<Isa>(score, a.cap);
          Isa::store(query[n].p + (first + i) * Isa::width, score);
        }
      }
    }
    for (uint64_t rest = ~seen; rest != 0; rest &= rest - 1) {
      for (int n = 0; n < Q; ++n) query[n].p[__builtin_ctzll(rest)] = minus_infinity;
    }
  }

  /// acc = acc * factor, then fma(p[i], v[i], acc) over the positions that are seen, ascending, for
  /// V vectors of the dimensions from d on.
  template <int Q, int V>
  void accumulate(uint64_t seen, uint32_t d, const typename Kernel::Query* query) const {
    F sum[Q * V];
    for (int n = 0; n < Q; ++n) {
      const F factor = Isa::set(query[n].factor);
      for (int j = 0; j < V; ++j) {
        sum[n * V + j] = Isa::mul(Isa::load(query[n].split.acc + d + j * Isa::width), factor);
      }
    }
    for (uint64_t rest = seen; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<uint32_t>(__builtin_ctzll(rest));
      const float* row = v + size_t{i} * dim + d;
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
      float* acc = query[n].split.acc + d;
      for (int j = 0; j < V; ++j) Isa::store(acc + j * Isa::width, sum[n * V + j]);
    }
  }

  /// Bits of the tile's positions that the token at `position` sees.
  [[nodiscard]] uint64_t seen_by(uint32_t token, uint32_t first) const {
    const uint32_t position = a.first_position + token;
    if (position < first) return 0;
    const uint32_t end = position - first + 1;
    uint64_t seen = end < tile_positions ? (uint64_t{1} << end) - 1 : ~uint64_t{0};
    if (a.window != 0 && position + 1 >= a.window) {
      const uint32_t begin = position + 1 - a.window;
      if (begin >= first + tile_positions) return 0;
      if (begin > first) seen &= ~((uint64_t{1} << (begin - first)) - 1);
    }
    if (a.selected != nullptr) {
      seen &= a.selected[token * a.selected_stride + first / tile_positions];
    }
    return seen;
  }

  /// One tile for Q queries from `first` on.
  template <int Q>
  void attend(uint32_t first, uint64_t seen) const {
    typename Kernel::Query query[Q];
    for (int n = 0; n < Q; ++n) {
      const uint32_t number = first + static_cast<uint32_t>(n);
      query[n].vector =
          a.query + number / a.group * a.query_stride + size_t{number % a.group} * a.key_dim;
      query[n].split = read(state(number, 0));
    }
    scores<Q>(seen, query);
    OnlineSoftmax<Isa>::template soften<Q>(query);
    uint32_t d = 0;
    for (; d + 4 * width <= dim; d += 4 * width) accumulate<Q, 4>(seen, d, query);
    for (; d < dim; d += width) accumulate<Q, 1>(seen, d, query);
    for (int n = 0; n < Q; ++n) {
      float* split = state(first + static_cast<uint32_t>(n), 0);
      write(split, query[n].split);
      split[0] = 1.0f;
    }
  }

  [[nodiscard]] float* partial(uint32_t split, uint32_t query) const {
    return a.partial + (size_t{split} * a.num_tokens * a.group + query) * (dim + 3);
  }

  void clear(float* state) const {
    SoftmaxState cleared = read(state);
    OnlineSoftmax<Isa>::clear(dim, cleared);
    write(state, cleared);
    state[0] = 0.0f;
  }

  void merge(uint32_t query, float* split) const {
    if (split[0] == 0.0f) return;
    float* before = state(query, 1);
    SoftmaxState merged = read(before), now = read(split);
    OnlineSoftmax<Isa>::merge(dim, before[0] == 0.0f, merged, now);
    write(before, merged);
    write(split, now);
    before[0] = 1.0f;
    split[0] = 0.0f;
  }

  /// Adds the split to those before it, or leaves it for merge_general_attention; empties it.
  void finish_split(uint32_t query, uint32_t number) const {
    float* split = state(query, 0);
    if (a.partial == nullptr || split[0] == 0.0f) {
      merge(query, split);
      return;
    }
    float* kept = partial(number, query);
    for (uint32_t i = 0; i < dim + 3; ++i) kept[i] = split[i];
    clear(split);
  }

  void attend_tile(uint32_t first) const {
    uint64_t seen[attention_tokens_max], any = 0;
    for (uint32_t t = 0; t < a.num_tokens; ++t) any |= seen[t] = seen_by(t, first);
    if (any != 0) {
      const uint32_t written = a.first_position + a.num_tokens - first;
      const uint32_t valid = written < tile_positions ? written : tile_positions;
      convert(a.pool + a.block_table[first / tile_positions] * a.block_bytes, valid);
    }
    const uint32_t queries = a.num_tokens * a.group;
    for (uint32_t query = 0; query < queries;) {
      const uint64_t mask = seen[query / a.group];
      uint32_t count = 1;
      while (count < 3 && query + count < queries && seen[(query + count) / a.group] == mask) {
        ++count;
      }
      if (mask != 0 && count == 3) attend<3>(query, mask);
      if (mask != 0 && count == 2) attend<2>(query, mask);
      if (mask != 0 && count == 1) attend<1>(query, mask);
      query += count;
    }
    const bool split_ends = (first + tile_positions) % split_positions == 0;
    for (uint32_t query = 0; query < queries; ++query) {
      if (split_ends || a.first_position + query / a.group < first + tile_positions) {
        finish_split(query, first / split_positions);
      }
    }
  }

  /// The first tile that any query sees begins here.
  [[nodiscard]] uint32_t begin() const {
    if (a.window == 0 || a.first_position + 1 <= a.window) return 0;
    return (a.first_position + 1 - a.window) / tile_positions * tile_positions;
  }

  /// Sinks come last: one more score without a value.
  void finish(uint32_t query) const {
    float* merged = state(query, 1);
    const float* acc = merged + 3;
    float factor = 1.0f, sum = merged[2];
    const uint32_t g = query % a.group;
    if (a.sinks != nullptr) {
      const float maximum = max_of<Isa>(merged[1], a.sinks[g]);
      factor = exp_one<Isa>(merged[1] - maximum);
      sum = sum * factor + exp_one<Isa>(a.sinks[g] - maximum);
    }
    float* out = a.out + query / a.group * a.out_stride + size_t{g} * a.value_dim;
    for (uint32_t d = 0; d < a.value_dim; ++d) {
      out[d] = a.sinks != nullptr ? acc[d] * factor / sum : acc[d] / sum;
    }
  }
};

template <class Isa>
void general_attention(const GeneralAttentionArgs& a) {
  const GeneralAttention<Isa> pass(a);
  const uint32_t queries = a.num_tokens * a.group, end = a.first_position + a.num_tokens;
  for (uint32_t query = 0; query < queries; ++query) {
    for (uint32_t which = 0; which < 2; ++which) pass.clear(pass.state(query, which));
  }
  const uint32_t begin = pass.begin(), splits = (end - 1) / split_positions + 1;
  const uint32_t end_split = a.end_split < splits ? a.end_split : splits;
  for (uint32_t split = a.first_split; split < end_split; ++split) {
    for (uint32_t query = 0; a.partial != nullptr && query < queries; ++query) {
      pass.partial(split, query)[0] = 0.0f;
    }
    uint32_t first = split * split_positions;
    const uint32_t stop = end < first + split_positions ? end : first + split_positions;
    for (first = first < begin ? begin : first; first < stop; first += tile_positions) {
      pass.attend_tile(first);
    }
  }
  if (a.partial != nullptr) return;
  for (uint32_t query = 0; query < queries; ++query) pass.finish(query);
}

/// Merges the splits that calls with the same arguments left in `partial`, and writes `out`.
template <class Isa>
void merge_general_attention(const GeneralAttentionArgs& a) {
  const GeneralAttention<Isa> pass(a);
  for (uint32_t query = 0; query < a.num_tokens * a.group; ++query) {
    const uint32_t position = a.first_position + query / a.group;
    pass.clear(pass.state(query, 1));
    for (uint32_t split = 0; split <= position / split_positions; ++split) {
      pass.merge(query, pass.partial(split, query));
    }
    pass.finish(query);
  }
}

}  // namespace troupe::cpu
