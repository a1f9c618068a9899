// What serving a model takes, known before anything is allocated.
#pragma once

#include <cstdint>

#include "cpu/cpu_backend.hpp"
#include "kv/layout.hpp"
#include "model/model.hpp"

namespace troupe::cpu {

/// Bytes of all matrices as they will be packed: whole panels of rows in the type that `mode`
/// computes in. Norms and biases, which are small, are left out.
uint64_t packed_weight_bytes(const model::Model& model, ComputeMode mode);

/// Bytes of one matrix, packed.
uint64_t packed_matrix_bytes(const model::Tensor& tensor, ComputeMode mode);

/// The layout of a KV block. Exact mode wants f32; models with an indexer have it always. Latent
/// attention keeps one vector for both: it is stored as the keys.
kv::KvLayout kv_layout_of(const model::ModelConfig& config, kv::KvTypes types);

}  // namespace troupe::cpu
