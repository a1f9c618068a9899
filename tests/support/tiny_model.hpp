// Models of random weights for any configuration, made in memory: every part that the
// configuration names is there.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "model/model.hpp"
#include "model/rope_frequencies.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/quantize.hpp"

namespace troupe::testing {

/// Parts that no number of the configuration tells.
struct TinyParts {
  bool biases = false;
  bool sinks = false;
  bool post_norms = false;
  bool choice_bias = false;
  model::TensorType matrices = model::TensorType::q8_0;
  uint32_t seed = 1;
};

/// A small Llama; tests change what they are about.
inline model::ModelConfig tiny_config() {
  model::ModelConfig c;
  c.architecture = "tiny";
  c.num_layers = 2;
  c.hidden_size = 64;
  c.num_heads = 4;
  c.num_kv_heads = 2;
  c.head_dim = 32;
  c.ffn_size = 96;
  c.vocab_size = 211;
  c.context_max = 4096;
  c.tied_embedding = true;
  c.rope.pairing = model::RopePairing::neox;
  c.rope.dim = 32;
  c.rope.inverse_frequency = model::rope_inverse_frequencies(100.0, 32);
  c.layers.assign(c.num_layers, {});
  return c;
}

class TinyModelMaker {
 public:
  TinyModelMaker(const model::ModelConfig& config, const TinyParts& parts)
      : c_(config), parts_(parts), seed_(parts.seed) {}

  std::shared_ptr<const model::Model> make() {
    auto made = std::make_shared<model::Model>();
    made->config = c_;
    model::Weights& w = made->weights;
    w.token_embedding = matrix(c_.vocab_size, c_.hidden_size, 8.0f);
    w.output = w.token_embedding;
    w.output_norm = norm(c_.hidden_size);
    for (uint32_t i = 0; i < c_.num_layers; ++i) w.layers.push_back(layer(c_.layer(i)));
    made->mapping = std::move(storage_);
    return made;
  }

 private:
  model::Tensor tensor(model::TensorType type, uint32_t rows, uint32_t cols, float spread) {
    storage_->push_back(quantize(random_floats(size_t{rows} * cols, ++seed_, spread), type));
    model::Tensor made;
    made.name = "tensor " + std::to_string(storage_->size());
    made.type = type;
    made.rows = rows;
    made.cols = cols;
    made.data = reinterpret_cast<const std::byte*>(storage_->back().data());
    return made;
  }
  model::Tensor matrix(uint32_t rows, uint32_t cols, float gain = 2.0f) {
    const bool whole = cols % 32 == 0;
    return tensor(whole ? parts_.matrices : model::TensorType::f32, rows, cols,
                  gain / std::sqrt(static_cast<float>(cols)));
  }
  model::Tensor norm(uint32_t size) { return tensor(model::TensorType::f32, 1, size, 1.0f); }
  model::Tensor bias(uint32_t size) {
    return parts_.biases ? tensor(model::TensorType::f32, 1, size, 0.5f) : model::Tensor();
  }

  model::FfnWeights gated(uint32_t size) {
    model::FfnWeights ffn;
    ffn.gate = matrix(size, c_.hidden_size);
    ffn.up = matrix(size, c_.hidden_size);
    ffn.down = matrix(c_.hidden_size, size);
    ffn.gate_bias = bias(size);
    ffn.up_bias = bias(size);
    ffn.down_bias = bias(c_.hidden_size);
    return ffn;
  }

  void latent(model::LayerWeights& l) {
    const model::LatentConfig& d = c_.latent;
    const uint32_t rotated = c_.rope.dim, query = c_.num_heads * (d.nope_dim + rotated);
    if (d.query_rank != 0) {
      l.latent.query_down = matrix(d.query_rank, c_.hidden_size);
      l.latent.query_down_norm = norm(d.query_rank);
    }
    l.query = matrix(query, d.query_rank == 0 ? c_.hidden_size : d.query_rank);
    l.latent.down = matrix(d.kv_rank + rotated, c_.hidden_size);
    l.latent.norm = norm(d.kv_rank);
    l.latent.up = matrix(c_.num_heads * (d.nope_dim + d.value_dim), d.kv_rank);
    l.attention_output = matrix(c_.hidden_size, c_.num_heads * d.value_dim);
  }

  void heads(model::LayerWeights& l) {
    const uint32_t query = c_.num_heads * c_.head_dim, kv = c_.num_kv_heads * c_.head_dim;
    l.query = matrix(query, c_.hidden_size);
    l.key = matrix(kv, c_.hidden_size);
    l.value = matrix(kv, c_.hidden_size);
    l.query_bias = bias(query);
    l.key_bias = bias(kv);
    l.value_bias = bias(kv);
    l.attention_output = matrix(c_.hidden_size, query);
    const bool whole = c_.qk_norm == model::QkNorm::whole;
    if (c_.qk_norm == model::QkNorm::none) return;
    l.query_norm = norm(whole ? query : c_.head_dim);
    l.key_norm = norm(whole ? kv : c_.head_dim);
  }

  void experts(model::LayerWeights& l) {
    const model::ExpertsConfig& e = c_.experts;
    l.router = matrix(e.count, c_.hidden_size, 6.0f);
    if (parts_.choice_bias) l.choice_bias = tensor(model::TensorType::f32, 1, e.count, 0.3f);
    for (uint32_t i = 0; i < e.count; ++i) l.experts.push_back(gated(e.ffn_size));
    if (e.shared_ffn_size != 0) l.shared = gated(e.shared_ffn_size);
  }

  model::LayerWeights layer(const model::LayerConfig& kind) {
    model::LayerWeights l;
    l.attention_norm = norm(c_.hidden_size);
    l.ffn_norm = norm(c_.hidden_size);
    if (parts_.post_norms) {
      l.attention_post_norm = norm(c_.hidden_size);
      l.ffn_post_norm = norm(c_.hidden_size);
    }
    if (parts_.sinks) l.sinks = tensor(model::TensorType::f32, 1, c_.num_heads, 2.0f);
    if (c_.latent.kv_rank != 0) {
      latent(l);
    } else {
      heads(l);
    }
    l.attention_output_bias = bias(c_.hidden_size);
    if (kind.selection == model::Selection::own) {
      const model::IndexerConfig& x = c_.indexer;
      l.indexer.query = matrix(x.heads * x.dim, c_.latent.query_rank);
      l.indexer.key = matrix(x.dim, c_.hidden_size);
      l.indexer.key_norm = norm(x.dim);
      l.indexer.key_norm_bias = norm(x.dim);
      l.indexer.weights = matrix(x.heads, c_.hidden_size);
    }
    if (kind.experts) {
      experts(l);
    } else {
      l.ffn = gated(c_.ffn_size);
    }
    return l;
  }

  model::ModelConfig c_;
  TinyParts parts_;
  uint32_t seed_;
  std::shared_ptr<std::vector<Bytes>> storage_ = std::make_shared<std::vector<Bytes>>();
};

inline std::shared_ptr<const model::Model> make_tiny_model(const model::ModelConfig& config,
                                                           const TinyParts& parts = {}) {
  return TinyModelMaker(config, parts).make();
}

}  // namespace troupe::testing
