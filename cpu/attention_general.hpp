// Attention with everything that models ask for beyond cpu/attention.hpp: windows, soft caps,
// sinks, selected positions, values that are part of the keys (latent attention). By the same
// sections of docs/numerics.md and with the same bits where none of it is asked for; one query at a
// time.
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
};

inline size_t general_attention_scratch_floats(uint32_t key_dim, uint32_t value_dim,
                                               uint32_t group) {
  const size_t value = padded_dim(value_dim);
  return tile_positions * (key_dim + value) +
         size_t{attention_tokens_max} * group * 2 * (value + 3);
}

/// One query's softmax over a split, or over the splits before it.
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
  void scores(const float* query, uint64_t seen, float* p) const {
    constexpr int step = 4;
    for (int first = 0; first < Kernel::vectors; first += step) {
      F acc[step];
      for (F& lanes : acc) lanes = Isa::set(0.0f);
      const float* row = k + first * Isa::width;
      for (uint32_t d = 0; d < a.key_dim; ++d, row += tile_positions) {
        const F q = Isa::set(query[d]);
        for (int i = 0; i < step; ++i) {
          acc[i] = Isa::fma(q, Isa::load(row + i * Isa::width), acc[i]);
        }
      }
      for (int i = 0; i < step; ++i) {
        F score = Isa::mul(acc[i], Isa::set(a.scale));
        if (a.cap > 0.0f) score = cap_lanes<Isa>(score, a.cap);
        Isa::store(p + (first + i) * Isa::width, score);
      }
    }
    for (uint32_t i = 0; i < tile_positions; ++i) {
      if ((seen >> i & 1) == 0) p[i] = minus_infinity;
    }
  }

  /// acc = acc * factor, then fma(p[i], v[i], acc) over the positions that are seen, ascending.
  void accumulate(const typename Kernel::Query& query, uint64_t seen) const {
    const F factor = Isa::set(query.factor);
    for (uint32_t d = 0; d < dim; d += width) {
      F sum = Isa::mul(Isa::load(query.split.acc + d), factor);
      for (uint64_t rest = seen; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<uint32_t>(__builtin_ctzll(rest));
        sum = Isa::fma(Isa::set(query.p[i]), Isa::load(v + size_t{i} * dim + d), sum);
      }
      Isa::store(query.split.acc + d, sum);
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

  void attend(uint32_t query, uint32_t token, uint64_t seen) const {
    typename Kernel::Query q;
    float* split = state(query, 0);
    q.vector = a.query + token * a.query_stride + size_t{query % a.group} * a.key_dim;
    q.split = read(split);
    scores(q.vector, seen, q.p);
    OnlineSoftmax<Isa>::template soften<1>(&q);
    accumulate(q, seen);
    write(split, q.split);
    split[0] = 1.0f;
  }

  void merge(uint32_t query) const {
    float* split = state(query, 0);
    if (split[0] == 0.0f) return;
    float* before = state(query, 1);
    SoftmaxState merged = read(before), now = read(split);
    OnlineSoftmax<Isa>::merge(dim, before[0] == 0.0f, merged, now);
    write(before, merged);
    write(split, now);
    before[0] = 1.0f;
    split[0] = 0.0f;
  }

  void attend_tile(uint32_t first) const {
    uint64_t seen[attention_tokens_max], any = 0;
    for (uint32_t t = 0; t < a.num_tokens; ++t) any |= seen[t] = seen_by(t, first);
    if (any != 0) {
      const uint32_t written = a.first_position + a.num_tokens - first;
      const uint32_t valid = written < tile_positions ? written : tile_positions;
      convert(a.pool + a.block_table[first / tile_positions] * a.block_bytes, valid);
    }
    const bool split_ends = (first + tile_positions) % split_positions == 0;
    for (uint32_t query = 0; query < a.num_tokens * a.group; ++query) {
      const uint32_t token = query / a.group;
      if (seen[token] != 0) attend(query, token, seen[token]);
      if (split_ends || a.first_position + token < first + tile_positions) merge(query);
    }
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
  const uint32_t queries = a.num_tokens * a.group;
  for (uint32_t query = 0; query < queries; ++query) {
    for (uint32_t which = 0; which < 2; ++which) {
      float* state = pass.state(query, which);
      SoftmaxState cleared = pass.read(state);
      OnlineSoftmax<Isa>::clear(pass.dim, cleared);
      pass.write(state, cleared);
      state[0] = 0.0f;
    }
  }
  uint32_t first = 0;
  if (a.window != 0 && a.first_position + 1 > a.window) {
    first = (a.first_position + 1 - a.window) / tile_positions * tile_positions;
  }
  for (; first < a.first_position + a.num_tokens; first += tile_positions) pass.attend_tile(first);
  for (uint32_t query = 0; query < queries; ++query) pass.finish(query);
}

}  // namespace troupe::cpu
