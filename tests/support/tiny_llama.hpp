// Llama models of random weights, made in memory.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "model/model.hpp"
#include "model/tensor.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/quantize.hpp"

namespace troupe::testing {

struct TinyLlamaShape {
  uint32_t num_layers = 2, hidden_size = 96, num_heads = 6, num_kv_heads = 2, head_dim = 32;
  uint32_t ffn_size = 160, vocab_size = 301, context_max = 4096;
  model::TensorType matrices = model::TensorType::q4_1;
  model::TensorType embedding = model::TensorType::q8_0;  ///< also the output: they are tied
  model::RopePairing pairing = model::RopePairing::norm;
  float attention_cap = 0.0f;
  uint32_t seed = 1;
};

class TinyLlamaMaker {
 public:
  explicit TinyLlamaMaker(const TinyLlamaShape& shape) : shape_(shape), seed_(shape.seed) {}

  std::shared_ptr<const model::Model> make() {
    const TinyLlamaShape& s = shape_;
    auto made = std::make_shared<model::Model>();
    model::ModelConfig& c = made->config;
    c.architecture = "llama";
    c.num_layers = s.num_layers;
    c.hidden_size = s.hidden_size;
    c.num_heads = s.num_heads;
    c.num_kv_heads = s.num_kv_heads;
    c.head_dim = s.head_dim;
    c.ffn_size = s.ffn_size;
    c.vocab_size = s.vocab_size;
    c.context_max = s.context_max;
    c.attention_cap = s.attention_cap;
    c.tied_embedding = true;
    c.rope.pairing = s.pairing;
    c.rope.dim = s.head_dim;
    for (uint32_t i = 0; i < s.head_dim / 2; ++i) {
      c.rope.inverse_frequency.push_back(1.0 / (1.0 + 7.0 * i));
    }
    const uint32_t query = s.num_heads * s.head_dim, kv = s.num_kv_heads * s.head_dim;
    model::Weights& w = made->weights;
    w.token_embedding = matrix(s.embedding, s.vocab_size, s.hidden_size, 8.0f);
    w.output = w.token_embedding;
    w.output_norm = matrix(model::TensorType::f32, 1, s.hidden_size, 1.0f);
    for (uint32_t i = 0; i < s.num_layers; ++i) {
      model::LayerWeights layer;
      layer.attention_norm = matrix(model::TensorType::f32, 1, s.hidden_size, 4.0f);
      layer.query = matrix(s.matrices, query, s.hidden_size, 2.0f);
      layer.key = matrix(s.matrices, kv, s.hidden_size, 2.0f);
      layer.value = matrix(s.matrices, kv, s.hidden_size, 2.0f);
      layer.attention_output = matrix(s.matrices, s.hidden_size, query, 2.0f);
      layer.ffn_norm = matrix(model::TensorType::f32, 1, s.hidden_size, 4.0f);
      layer.ffn.gate = matrix(s.matrices, s.ffn_size, s.hidden_size, 2.0f);
      layer.ffn.up = matrix(s.matrices, s.ffn_size, s.hidden_size, 2.0f);
      layer.ffn.down = matrix(s.matrices, s.hidden_size, s.ffn_size, 2.0f);
      w.layers.push_back(layer);
    }
    made->mapping = std::move(storage_);
    return made;
  }

 private:
  /// Normal numbers whose spread is `gain` / sqrt(cols).
  model::Tensor matrix(model::TensorType type, uint32_t rows, uint32_t cols, float gain) {
    const float spread = gain / std::sqrt(static_cast<float>(cols));
    storage_->push_back(quantize(random_floats(size_t{rows} * cols, ++seed_, spread), type));
    model::Tensor tensor;
    tensor.name = "tensor " + std::to_string(storage_->size());
    tensor.type = type;
    tensor.rows = rows;
    tensor.cols = cols;
    tensor.data = reinterpret_cast<const std::byte*>(storage_->back().data());
    return tensor;
  }

  TinyLlamaShape shape_;
  uint32_t seed_;
  std::shared_ptr<std::vector<Bytes>> storage_ = std::make_shared<std::vector<Bytes>>();
};

inline std::shared_ptr<const model::Model> make_tiny_llama(const TinyLlamaShape& shape) {
  return TinyLlamaMaker(shape).make();
}

inline std::vector<int32_t> random_tokens(uint32_t count, uint32_t vocab_size, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(generator() % vocab_size);
  return tokens;
}

}  // namespace troupe::testing
