// A loaded model: configuration, weights mapped from the file, tokenizer data, digest.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/sha256.hpp"
#include "model/config.hpp"
#include "model/tensor.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::model {

/// A gated feed-forward part: a layer's own, one expert, or the expert that all tokens pass.
struct FfnWeights {
  Tensor gate;                           ///< [ffn, hidden]
  Tensor up;                             ///< [ffn, hidden]
  Tensor down;                           ///< [hidden, ffn]
  Tensor gate_bias, up_bias, down_bias;  ///< [ffn], [ffn], [hidden]; absent in most models
};

/// Latent attention (LatentConfig) instead of key and value.
struct LatentWeights {
  Tensor query_down;       ///< [query_rank, hidden]; absent where query_rank = 0
  Tensor query_down_norm;  ///< [query_rank]
  Tensor down;             ///< [kv_rank + rope.dim, hidden]
  Tensor down_bias, query_down_bias;
  Tensor norm;      ///< [kv_rank]
  Tensor up;        ///< [heads * (nope_dim + value_dim), kv_rank], or absent and instead:
  Tensor key_up;    ///< [heads * kv_rank, nope_dim]: transposed in each head
  Tensor value_up;  ///< [heads * value_dim, kv_rank]
};

struct IndexerWeights {
  Tensor query;          ///< [heads * dim, query_rank]
  Tensor key;            ///< [dim, hidden]
  Tensor key_norm;       ///< [dim]
  Tensor key_norm_bias;  ///< [dim]
  Tensor weights;        ///< [heads, hidden]
};

/// What a model does not have is absent (Tensor::present).
struct LayerWeights {
  Tensor attention_norm;    ///< [hidden]
  Tensor query;             ///< [heads * head_dim, hidden]; latent: [heads * (nope + rope), rank]
  Tensor key;               ///< [kv_heads * head_dim, hidden]
  Tensor value;             ///< [kv_heads * head_dim, hidden]
  Tensor attention_output;  ///< [hidden, heads * head_dim]
  Tensor query_bias, key_bias, value_bias, attention_output_bias;
  Tensor query_norm, key_norm;  ///< [head_dim], or [heads * head_dim] and [kv_heads * head_dim]
  Tensor sinks;                 ///< [heads]
  Tensor attention_post_norm;   ///< [hidden]
  LatentWeights latent;
  IndexerWeights indexer;
  Tensor ffn_norm;     ///< [hidden]
  FfnWeights ffn;      ///< of a layer without experts
  Tensor router;       ///< [experts, hidden]
  Tensor router_bias;  ///< [experts], part of the logits
  Tensor choice_bias;  ///< [experts], for the choice only
  std::vector<FfnWeights> experts;
  FfnWeights shared;
  Tensor ffn_post_norm;  ///< [hidden]
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
  std::vector<std::string> files;       ///< paths of those that the weights lie in, in order
  std::shared_ptr<const void> mapping;  ///< keeps the file mapped while any Tensor is used
};

/// Reads the tokenizer of a checkpoint's folder: the text folder, which this one does not know, has
/// the readers (text/tokenizer_file.hpp).
using ReadTokenizer = std::function<Result<text::TokenizerSpec>(const std::string& folder)>;

/// The digest of the weights in these files (paths), if somebody has it: it takes reading them all.
using KnownDigest = std::function<std::optional<Digest>(const std::vector<std::string>& files)>;

/// `path`: a GGUF file, or a folder with config.json and weights in safetensors. Everything is
/// checked; every count, offset and shape is verified before use. Without `tokenizer` a folder's
/// model has no tokenizer. Errors: not_found, corrupt (what is wrong and where), unsupported (with
/// what is supported).
Result<std::shared_ptr<const Model>> load_model(const std::string& path,
                                                const ReadTokenizer& tokenizer = {},
                                                const KnownDigest& known_digest = {});

}  // namespace troupe::model
