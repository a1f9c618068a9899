// Scores of a sparse-attention indexer: for one query token and every position of a tile the sum
// over the indexer's heads, ascending, of weight * max(q . k * scale, 0) (docs/numerics.md section
// 4). A score depends on the query and one stored key, so neither batch nor chunk can change it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/attention.hpp"
#include "cpu/simd_math.hpp"

namespace troupe::cpu {

struct IndexScoresArgs {
  const std::byte* pool = nullptr;
  size_t block_bytes = 0;
  const uint32_t* block_table = nullptr;
  size_t offset = 0;  ///< bytes from a block's start to the layer's keys [dim][64]
  kv::KvType type = kv::KvType::f32;
  uint32_t heads = 0, dim = 0;
  uint32_t positions = 0;          ///< the query sees [0, positions)
  float scale = 0;                 ///< of a product
  const float* query = nullptr;    ///< [heads][dim]
  const float* weights = nullptr;  ///< [heads]
  float* scores = nullptr;         ///< [positions, rounded up to whole tiles]
  float* scratch = nullptr;        ///< [dim * 64]
};

template <class Isa>
void index_tile(const IndexScoresArgs& a, const std::byte* keys, uint32_t valid, float* scores) {
  using F = typename Isa::F;
  constexpr uint32_t width = Isa::width;
  read_keys<Isa>(a.type, keys, a.dim, valid, a.scratch);
  const F zero = Isa::set(0.0f), scale = Isa::set(a.scale);
  for (uint32_t i = 0; i < tile_positions; i += width) {
    F score = zero;
    for (uint32_t h = 0; h < a.heads; ++h) {
      const float* query = a.query + size_t{h} * a.dim;
      const float* row = a.scratch + i;
      F acc = zero;
      for (uint32_t d = 0; d < a.dim; ++d, row += tile_positions) {
        acc = Isa::fma(Isa::set(query[d]), Isa::load(row), acc);
      }
      acc = Isa::max(Isa::mul(acc, scale), zero);
      score = Isa::fma(Isa::set(a.weights[h]), acc, score);
    }
    Isa::store(scores + i, score);
  }
}

template <class Isa>
void index_scores(const IndexScoresArgs& a) {
  for (uint32_t first = 0; first < a.positions; first += tile_positions) {
    const uint32_t rest = a.positions - first;
    const uint32_t valid = rest < tile_positions ? rest : tile_positions;
    const std::byte* block = a.pool + a.block_table[first / tile_positions] * a.block_bytes;
    index_tile<Isa>(a, block + a.offset, valid, a.scores + first);
  }
}

}  // namespace troupe::cpu
