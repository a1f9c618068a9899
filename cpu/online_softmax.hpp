// Online softmax by docs/numerics.md section 4: a tile of scores becomes weights, a finished split
// joins the splits before it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/simd_math.hpp"

namespace troupe::cpu {

inline constexpr uint32_t tile_positions = 64;
#ifdef TROUPE_FREE_ORDER
// What invariance costs is measured against this (bench/ablation): one split a thread where two
// threads share a sequence of 4,096 tokens. No product is compiled so.
inline constexpr uint32_t split_positions = 2112;
#else
inline constexpr uint32_t split_positions = 1024;
#endif

/// Online softmax of one query: within the split (running) and over the splits before (merged).
struct SoftmaxState {
  float maximum;
  float sum;
  float* acc;  ///< [padded dim]
};

template <class Isa>
struct OnlineSoftmax {
  using F = typename Isa::F;
  static constexpr int vectors = static_cast<int>(tile_positions / Isa::width);

  /// One query against the tile at hand.
  struct Query {
    const float* vector;  ///< [head_dim]
    uint32_t valid;       ///< positions of the tile that it sees
    SoftmaxState split;
    float p[tile_positions];
    float factor;  ///< e^(old - new maximum)
  };

  /// Scores to weights, maxima and sums. The queries go through each step together: their chains
  /// are long and overlap that way.
  template <int Q>
  static void soften(Query* query) {
    float maximum[Q], fall[Isa::width] = {};
    Lanes<Isa> widest(0.0f);
    for (int n = 0; n < Q; ++n) {
      Lanes<Isa> highest(minus_infinity), lowest(-minus_infinity);
      for (int i = 0; i < vectors; ++i) {
        const F score = Isa::load(query[n].p + i * Isa::width);
        F& high = highest.part[i % Lanes<Isa>::parts];
        F& low = lowest.part[i % Lanes<Isa>::parts];
        high = Isa::max(score, high);
        low = Isa::min(score, low);
      }
      maximum[n] = max_of<Isa>(query[n].split.maximum, highest.maximum());
      fall[n] = query[n].split.maximum - maximum[n];
      query[n].split.maximum = maximum[n];
      for (int i = 0; i < Lanes<Isa>::parts; ++i) {
        const F width = Isa::sub(Isa::set(maximum[n]), lowest.part[i]);
        widest.part[i] = Isa::max(width, widest.part[i]);
      }
    }
    Isa::store(fall, exp_lanes<Isa>(Isa::load(fall)));
    for (int n = 0; n < Q; ++n) query[n].factor = fall[n];
    if (widest.maximum() <= -exp_near_lowest) {
      weigh<Q>([](F x) { return exp_near<Isa>(x); }, maximum, query);
    } else {
      weigh<Q>([](F x) { return exp_lanes<Isa>(x); }, maximum, query);
    }
  }

  /// p = e^(p - maximum), and its sum to the split's.
  template <int Q, class Exp>
  static void weigh(Exp exp, const float* maximum, Query* query) {
    Lanes<Isa> sum[Q];
    for (int i = 0; i < vectors; ++i) {
      for (int n = 0; n < Q; ++n) {
        float* p = query[n].p + i * Isa::width;
        const F e = exp(Isa::sub(Isa::load(p), Isa::set(maximum[n])));
        Isa::store(p, e);
        F& part = sum[n].part[i % Lanes<Isa>::parts];
        part = Isa::add(part, e);
      }
    }
    for (int n = 0; n < Q; ++n) {
      query[n].split.sum = query[n].split.sum * query[n].factor + sum[n].sum();
    }
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

}  // namespace troupe::cpu
