#include "cpu/packed_model.hpp"

#include "base/concat.hpp"

namespace troupe::cpu {
namespace {

using model::ModelConfig;
using model::Tensor;

Status check_shape(const Tensor& tensor, const char* role, uint32_t rows, uint32_t cols) {
  if (tensor.present() && tensor.rows == rows && tensor.cols == cols) return {};
  return error(Code::corrupt,
               concat(role, " is ", tensor.present() ? "" : "absent or ", tensor.rows, " x ",
                      tensor.cols, " (", tensor.name, ")"),
               concat("the configuration asks for ", rows, " x ", cols));
}

Status check_config(const ModelConfig& c) {
  if (c.num_heads == 0 || c.num_kv_heads == 0 || c.num_heads % c.num_kv_heads != 0) {
    return error(Code::unsupported,
                 concat(c.num_heads, " heads over ", c.num_kv_heads, " KV heads"),
                 "heads must be a multiple of KV heads");
  }
  if (c.head_dim == 0 || c.hidden_size == 0 || c.ffn_size == 0 || c.vocab_size == 0) {
    return error(Code::corrupt, "the configuration has a size of zero");
  }
  if (c.rope.dim % 2 != 0 || c.rope.dim > c.head_dim ||
      c.rope.inverse_frequency.size() != c.rope.dim / 2) {
    return error(Code::corrupt,
                 concat("RoPE rotates ", c.rope.dim, " elements with ",
                        c.rope.inverse_frequency.size(), " frequencies"),
                 concat("expected an even number up to ", c.head_dim, ", two per frequency"));
  }
  return {};
}

struct Packer {
  const ModelConfig& config;
  ComputeMode mode;
  WeightArena& arena;
  ThreadPool& pool;

  Status matrix(const Tensor& tensor, const char* role, uint32_t rows, uint32_t cols,
                uint32_t unit_cols, PackedMatrix& out) {
    TROUPE_TRY(check_shape(tensor, role, rows, cols));
    TROUPE_ASSIGN(out, PackedMatrix::pack(tensor, mode, unit_cols, arena, pool));
    return {};
  }

  Status vector(const Tensor& tensor, const char* role, uint32_t size, std::vector<float>& out) {
    TROUPE_TRY(check_shape(tensor, role, 1, size));
    out.resize(size);
    model::dequantize_row(tensor, 0, out.data());
    return {};
  }

  Status layer(const model::LayerWeights& from, PackedLayer& to) {
    const uint32_t hidden = config.hidden_size, ffn = config.ffn_size;
    const uint32_t query_rows = config.num_heads * config.head_dim;
    const uint32_t kv_rows = config.num_kv_heads * config.head_dim;
    const uint32_t group_cols = config.group_size() * config.head_dim;
    TROUPE_TRY(vector(from.attention_norm, "attention norm", hidden, to.attention_norm));
    TROUPE_TRY(matrix(from.query, "query", query_rows, hidden, 0, to.query));
    TROUPE_TRY(matrix(from.key, "key", kv_rows, hidden, 0, to.key));
    TROUPE_TRY(matrix(from.value, "value", kv_rows, hidden, 0, to.value));
    TROUPE_TRY(matrix(from.attention_output, "attention output", hidden, query_rows, group_cols,
                      to.attention_output));
    TROUPE_TRY(vector(from.ffn_norm, "feed-forward norm", hidden, to.ffn_norm));
    TROUPE_TRY(matrix(from.gate, "gate", ffn, hidden, 0, to.gate));
    TROUPE_TRY(matrix(from.up, "up", ffn, hidden, 0, to.up));
    return matrix(from.down, "down", hidden, ffn, quant_block, to.down);
  }
};

}  // namespace

Result<PackedModel> pack_model(std::shared_ptr<const model::Model> model, ComputeMode mode,
                               ThreadPool& pool) {
  const ModelConfig& config = model->config;
  TROUPE_TRY(check_config(config));
  if (model->weights.layers.size() != config.num_layers) {
    return error(Code::corrupt, concat("weights of ", model->weights.layers.size(), " layers"),
                 concat("the configuration has ", config.num_layers));
  }
  PackedModel packed;
  Packer packer{config, mode, packed.arena, pool};
  packed.layers.resize(config.num_layers);
  for (uint32_t i = 0; i < config.num_layers; ++i) {
    TROUPE_TRY(packer.layer(model->weights.layers[i], packed.layers[i]));
  }
  TROUPE_TRY(check_shape(model->weights.token_embedding, "token embedding", config.vocab_size,
                         config.hidden_size));
  TROUPE_TRY(packer.vector(model->weights.output_norm, "output norm", config.hidden_size,
                           packed.output_norm));
  TROUPE_TRY(packer.matrix(model->weights.output, "output", config.vocab_size, config.hidden_size,
                           0, packed.output));
  packed.source = std::move(model);
  return packed;
}

}  // namespace troupe::cpu
