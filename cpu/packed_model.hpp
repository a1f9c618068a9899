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

struct PackedLayer {
  std::vector<float> attention_norm;  ///< [hidden]
  PackedMatrix query, key, value;     ///< column-parallel
  PackedMatrix attention_output;      ///< row-parallel by KV-head group
  std::vector<float> ffn_norm;        ///< [hidden]
  PackedMatrix gate, up;              ///< column-parallel
  PackedMatrix down;                  ///< row-parallel by blocks of 32
};

struct PackedModel {
  std::shared_ptr<const model::Model> source;
  WeightArena arena;
  std::vector<PackedLayer> layers;
  std::vector<float> output_norm;  ///< [hidden]
  PackedMatrix output;             ///< column-parallel
};

/// Errors: unsupported or corrupt (a tensor whose shape contradicts the configuration), exhausted.
Result<PackedModel> pack_model(std::shared_ptr<const model::Model> model, ComputeMode mode,
                               ThreadPool& pool);

}  // namespace troupe::cpu
