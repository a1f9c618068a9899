// A loaded model: configuration, weights mapped from the file, tokenizer data, digest.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/sha256.hpp"
#include "model/config.hpp"
#include "model/tensor.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::model {

struct LayerWeights {
  Tensor attention_norm;    ///< [hidden]
  Tensor query;             ///< [heads * head_dim, hidden]
  Tensor key;               ///< [kv_heads * head_dim, hidden]
  Tensor value;             ///< [kv_heads * head_dim, hidden]
  Tensor attention_output;  ///< [hidden, heads * head_dim]
  Tensor ffn_norm;          ///< [hidden]
  Tensor gate;              ///< [ffn, hidden]
  Tensor up;                ///< [ffn, hidden]
  Tensor down;              ///< [hidden, ffn]
};

struct Weights {
  Tensor token_embedding;  ///< [vocab, hidden]
  Tensor output_norm;      ///< [hidden]
  Tensor output;           ///< [vocab, hidden]; the embedding where they are tied
  std::vector<LayerWeights> layers;
};

struct Model {
  ModelConfig config;
  Weights weights;
  text::TokenizerSpec tokenizer;
  Digest weights_digest{};  ///< SHA-256 over all tensors in their stored form (numerics.md 8)
  size_t file_bytes = 0;
  std::shared_ptr<const void> mapping;  ///< keeps the file mapped while any Tensor is used
};

/// Reads and checks the file; every count, offset and shape is verified before use.
/// Errors: not_found, corrupt (what is wrong and where), unsupported (with what is supported).
Result<std::shared_ptr<const Model>> load_model(const std::string& path);

}  // namespace troupe::model
