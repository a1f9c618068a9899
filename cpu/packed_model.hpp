// A model's weights packed for the kernels. The embedding stays in the file: a lookup dequantises
// one row.
#pragma once

#include <memory>
#include <vector>

#include "base/result.hpp"
#include "base/thread_pool.hpp"
#include "cpu/packed_matrix.hpp"
#include "model/model.hpp"

namespace troupe::cpu {

/// Biases and norms that a model does not have are empty.
using Vector = std::vector<float>;

/// Adds a bias to a row of as many elements; an absent one is empty.
inline void add_bias(const Vector& bias, float* row) {
  for (size_t i = 0; i < bias.size(); ++i) row[i] += bias[i];
}

struct PackedFfn {
  PackedMatrix gate, up;  ///< column-parallel
  PackedMatrix down;      ///< row-parallel by blocks of 32
  Vector gate_bias, up_bias, down_bias;
};

/// model::LatentWeights; the matrices of the heads apart, those of the keys transposed, in F32
/// where the stored form cannot be.
struct PackedLatent {
  PackedMatrix query_down, down;
  Vector query_down_bias, query_down_norm, down_bias, norm;
  std::vector<PackedMatrix> key_up;    ///< [heads]: [kv_rank, nope_dim]
  std::vector<PackedMatrix> value_up;  ///< [heads]: [value_dim, kv_rank]
};

struct PackedIndexer {
  PackedMatrix query, key, weights;
  Vector key_norm, key_norm_bias;
};

struct PackedLayer {
  Vector attention_norm;           ///< [hidden]
  PackedMatrix query, key, value;  ///< column-parallel
  PackedMatrix attention_output;   ///< row-parallel by KV-head group, or by head where latent
  Vector query_bias, key_bias, value_bias, attention_output_bias;
  Vector query_norm, key_norm, sinks, attention_post_norm;
  PackedLatent latent;
  PackedIndexer indexer;
  Vector ffn_norm;  ///< [hidden]
  PackedFfn ffn;
  PackedMatrix router;
  Vector router_bias, choice_bias;
  std::vector<PackedFfn> experts;
  PackedFfn shared;
  Vector ffn_post_norm;
};

struct PackedModel {
  std::shared_ptr<const model::Model> source;
  std::shared_ptr<WeightArena> arena;  ///< where the matrices lie
  std::vector<PackedLayer> layers;
  Vector output_norm;   ///< [hidden]
  PackedMatrix output;  ///< column-parallel
};

/// Into places of `arena`; null: into memory of this process. Errors: unsupported or corrupt (a
/// tensor whose shape contradicts the configuration), exhausted, those of the arena.
Result<PackedModel> pack_model(std::shared_ptr<const model::Model> model, ComputeMode mode,
                               ThreadPool& pool, std::shared_ptr<WeightArena> arena = nullptr);

}  // namespace troupe::cpu
