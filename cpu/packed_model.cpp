#include "cpu/packed_model.hpp"

#include "base/concat.hpp"
#include "cpu/memory_needs.hpp"
#include "cpu/packing_report.hpp"
#include "model/tensor_views.hpp"

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

Status check_rope(const model::RopeConfig& rope, uint32_t head_dim) {
  if (rope.dim % 2 == 0 && rope.dim <= head_dim && rope.inverse_frequency.size() == rope.dim / 2) {
    return {};
  }
  return error(Code::corrupt,
               concat("RoPE rotates ", rope.dim, " elements with ", rope.inverse_frequency.size(),
                      " frequencies"),
               concat("expected an even number up to ", head_dim, ", two per frequency"));
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
  if (!c.layers.empty() && c.layers.size() != c.num_layers) {
    return error(Code::corrupt, concat("the configuration describes ", c.layers.size(), " layers"),
                 concat("it has ", c.num_layers));
  }
  TROUPE_TRY(check_rope(c.rope, c.head_dim));
  return check_rope(c.local_rope, c.head_dim);
}

struct Packer {
  const ModelConfig& config;
  ComputeMode mode;
  WeightArena& arena;
  ThreadPool& pool;
  PackingReport& report;

  Status matrix(const Tensor& tensor, const char* role, uint32_t rows, uint32_t cols,
                uint32_t unit_cols, PackedMatrix& out) {
    TROUPE_TRY(check_shape(tensor, role, rows, cols));
    TROUPE_ASSIGN(out, PackedMatrix::pack(tensor, mode, unit_cols, arena, pool));
    if (!arena.is_packed()) report.add(tensor, out.bytes());
    return {};
  }

  Status vector(const Tensor& tensor, const char* role, uint32_t size, Vector& out) {
    TROUPE_TRY(check_shape(tensor, role, 1, size));
    out.resize(size);
    model::dequantize_row(tensor, 0, out.data());
    return {};
  }

  Status optional(const Tensor& tensor, const char* role, uint32_t size, Vector& out) {
    return tensor.present() ? vector(tensor, role, size, out) : Status();
  }

  /// A norm's weight; some models store it less an offset.
  Status norm(const Tensor& tensor, const char* role, uint32_t size, Vector& out) {
    TROUPE_TRY(optional(tensor, role, size, out));
    if (config.norm_offset == 0.0f) return {};
    for (float& weight : out) weight += config.norm_offset;
    return {};
  }

  Status heads(const model::LayerWeights& from, PackedLayer& to) {
    const uint32_t hidden = config.hidden_size, dim = config.head_dim;
    const uint32_t query = config.num_heads * dim, kv = config.num_kv_heads * dim;
    TROUPE_TRY(matrix(from.query, "query", query, hidden, 0, to.query));
    TROUPE_TRY(matrix(from.key, "key", kv, hidden, 0, to.key));
    TROUPE_TRY(matrix(from.value, "value", kv, hidden, 0, to.value));
    TROUPE_TRY(optional(from.query_bias, "query bias", query, to.query_bias));
    TROUPE_TRY(optional(from.key_bias, "key bias", kv, to.key_bias));
    TROUPE_TRY(optional(from.value_bias, "value bias", kv, to.value_bias));
    if (config.qk_norm == model::QkNorm::none) return {};
    const bool whole = config.qk_norm == model::QkNorm::whole;
    TROUPE_TRY(norm(from.query_norm, "query norm", whole ? query : dim, to.query_norm));
    return norm(from.key_norm, "key norm", whole ? kv : dim, to.key_norm);
  }

  Status latent(const model::LayerWeights& from, PackedLayer& to) {
    const model::LatentConfig& c = config.latent;
    const uint32_t hidden = config.hidden_size, rotated = config.rope.dim;
    const uint32_t query = config.num_heads * (c.nope_dim + rotated);
    const model::LatentWeights& weights = from.latent;
    PackedLatent& packed = to.latent;
    TROUPE_TRY(
        matrix(from.query, "query", query, c.query_rank == 0 ? hidden : c.query_rank, 0, to.query));
    if (c.query_rank != 0) {
      TROUPE_TRY(
          matrix(weights.query_down, "query down", c.query_rank, hidden, 0, packed.query_down));
      TROUPE_TRY(norm(weights.query_down_norm, "query norm", c.query_rank, packed.query_down_norm));
      TROUPE_TRY(
          optional(weights.query_down_bias, "query bias", c.query_rank, packed.query_down_bias));
    }
    TROUPE_TRY(matrix(weights.down, "latent", c.kv_rank + rotated, hidden, 0, packed.down));
    TROUPE_TRY(optional(weights.down_bias, "latent bias", c.kv_rank + rotated, packed.down_bias));
    TROUPE_TRY(norm(weights.norm, "latent norm", c.kv_rank, packed.norm));
    packed.key_up.resize(config.num_heads);
    packed.value_up.resize(config.num_heads);
    for (uint32_t h = 0; h < config.num_heads; ++h) {
      TROUPE_TRY(
          matrix(key_up(weights, h), "latent key", c.kv_rank, c.nope_dim, 0, packed.key_up[h]));
      TROUPE_TRY(matrix(value_up(weights, h), "latent value", c.value_dim, c.kv_rank, 0,
                        packed.value_up[h]));
    }
    return {};
  }

  /// Head `h`: [kv_rank, nope_dim].
  [[nodiscard]] Tensor key_up(const model::LatentWeights& from, uint32_t h) const {
    const model::LatentConfig& c = config.latent;
    if (from.key_up.present()) return slice_rows(from.key_up, h * c.kv_rank, c.kv_rank, "key up");
    const uint32_t rows = c.nope_dim + c.value_dim;
    const Tensor key = slice_rows(from.up, h * rows, c.nope_dim, from.up.name);
    return columns_as_rows(key, 0, 1, c.kv_rank, from.up.name + "[key]");
  }
  [[nodiscard]] Tensor value_up(const model::LatentWeights& from, uint32_t h) const {
    const model::LatentConfig& c = config.latent;
    if (from.value_up.present()) {
      return slice_rows(from.value_up, h * c.value_dim, c.value_dim, "value up");
    }
    const uint32_t rows = c.nope_dim + c.value_dim;
    return slice_rows(from.up, h * rows + c.nope_dim, c.value_dim, from.up.name + "[value]");
  }

  Status indexer(const model::IndexerWeights& from, PackedIndexer& to) {
    const model::IndexerConfig& c = config.indexer;
    TROUPE_TRY(matrix(from.query, "indexer query", c.heads * c.dim, config.latent.query_rank, 0,
                      to.query));
    TROUPE_TRY(matrix(from.key, "indexer key", c.dim, config.hidden_size, 0, to.key));
    TROUPE_TRY(matrix(from.weights, "indexer weights", c.heads, config.hidden_size, 0, to.weights));
    TROUPE_TRY(vector(from.key_norm, "indexer norm", c.dim, to.key_norm));
    return optional(from.key_norm_bias, "indexer norm bias", c.dim, to.key_norm_bias);
  }

  Status attention(const model::LayerWeights& from, PackedLayer& to, model::Selection selection) {
    const uint32_t hidden = config.hidden_size;
    const bool latents = config.latent.kv_rank != 0;
    const uint32_t dim = latents ? config.latent.value_dim : config.head_dim;
    const uint32_t unit = latents ? dim : config.group_size() * dim;
    TROUPE_TRY(norm(from.attention_norm, "attention norm", hidden, to.attention_norm));
    TROUPE_TRY(latents ? latent(from, to) : heads(from, to));
    if (selection == model::Selection::own) TROUPE_TRY(indexer(from.indexer, to.indexer));
    TROUPE_TRY(matrix(from.attention_output, "attention output", hidden, config.num_heads * dim,
                      unit, to.attention_output));
    TROUPE_TRY(optional(from.attention_output_bias, "attention output bias", hidden,
                        to.attention_output_bias));
    TROUPE_TRY(optional(from.sinks, "attention sinks", config.num_heads, to.sinks));
    return norm(from.attention_post_norm, "attention post norm", hidden, to.attention_post_norm);
  }

  Status gated(const model::FfnWeights& from, uint32_t size, PackedFfn& to) {
    const uint32_t hidden = config.hidden_size;
    TROUPE_TRY(matrix(from.gate, "gate", size, hidden, 0, to.gate));
    TROUPE_TRY(matrix(from.up, "up", size, hidden, 0, to.up));
    TROUPE_TRY(optional(from.gate_bias, "gate bias", size, to.gate_bias));
    TROUPE_TRY(optional(from.up_bias, "up bias", size, to.up_bias));
    TROUPE_TRY(optional(from.down_bias, "down bias", hidden, to.down_bias));
    return matrix(from.down, "down", hidden, size, quant_block, to.down);
  }

  Status experts(const model::LayerWeights& from, PackedLayer& to) {
    const model::ExpertsConfig& c = config.experts;
    TROUPE_TRY(matrix(from.router, "router", c.count, config.hidden_size, 0, to.router));
    TROUPE_TRY(optional(from.router_bias, "router bias", c.count, to.router_bias));
    TROUPE_TRY(optional(from.choice_bias, "choice bias", c.count, to.choice_bias));
    if (from.experts.size() != c.count) {
      return error(Code::corrupt, concat("weights of ", from.experts.size(), " experts"),
                   concat("the configuration has ", c.count));
    }
    to.experts.resize(c.count);
    for (uint32_t i = 0; i < c.count; ++i) {
      TROUPE_TRY(gated(from.experts[i], c.ffn_size, to.experts[i]));
    }
    return c.shared_ffn_size == 0 ? Status() : gated(from.shared, c.shared_ffn_size, to.shared);
  }

  Status layer(const model::LayerWeights& from, const model::LayerConfig& kind, PackedLayer& to) {
    TROUPE_TRY(attention(from, to, kind.selection));
    TROUPE_TRY(norm(from.ffn_norm, "feed-forward norm", config.hidden_size, to.ffn_norm));
    TROUPE_TRY(
        norm(from.ffn_post_norm, "feed-forward post norm", config.hidden_size, to.ffn_post_norm));
    return kind.experts ? experts(from, to) : gated(from.ffn, config.ffn_size, to.ffn);
  }
};

}  // namespace

Result<PackedModel> pack_model(std::shared_ptr<const model::Model> model, ComputeMode mode,
                               ThreadPool& pool, std::shared_ptr<WeightArena> arena) {
  const ModelConfig& config = model->config;
  TROUPE_TRY(check_config(config));
  if (model->weights.layers.size() != config.num_layers) {
    return error(Code::corrupt, concat("weights of ", model->weights.layers.size(), " layers"),
                 concat("the configuration has ", config.num_layers));
  }
  const uint64_t bytes = packed_weight_bytes(*model, mode);
  if (!arena) {
    TROUPE_TRY(check_weights_fit(bytes));
    arena = std::make_shared<MemoryArena>();
  }
  PackedModel packed;
  packed.arena = std::move(arena);
  PackingReport report(bytes, mode);
  Packer packer{config, mode, *packed.arena, pool, report};
  packed.layers.resize(config.num_layers);
  for (uint32_t i = 0; i < config.num_layers; ++i) {
    TROUPE_TRY(packer.layer(model->weights.layers[i], config.layer(i), packed.layers[i]));
  }
  TROUPE_TRY(check_shape(model->weights.token_embedding, "token embedding", config.vocab_size,
                         config.hidden_size));
  TROUPE_TRY(packer.norm(model->weights.output_norm, "output norm", config.hidden_size,
                         packed.output_norm));
  TROUPE_TRY(packer.matrix(model->weights.output, "output", config.vocab_size, config.hidden_size,
                           0, packed.output));
  if (!packed.arena->is_packed()) report.finish();
  packed.source = std::move(model);
  return packed;
}

}  // namespace troupe::cpu
