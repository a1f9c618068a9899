#include "model/read_weights.hpp"

#include <string>
#include <utility>

#include "base/concat.hpp"
#include "model/quantized.hpp"
#include "model/tensor_views.hpp"

namespace troupe::model {
namespace {

/// Takes the weights of one layer after the other.
class WeightsReader {
 public:
  WeightsReader(const TensorTable& table, const WeightNames& names, const ModelConfig& config)
      : table_(table), taker_(table), names_(names), config_(config), hidden_(config.hidden_size) {}

  Result<Weights> read() {
    Weights w;
    TROUPE_ASSIGN(w.token_embedding, taker_.matrix(names_.embedding, config_.vocab_size, hidden_));
    TROUPE_ASSIGN(w.output_norm, taker_.vector(names_.output_norm, hidden_));
    w.output = w.token_embedding;
    if (!config_.tied_embedding) {
      TROUPE_ASSIGN(w.output, taker_.matrix(names_.output, config_.vocab_size, hidden_));
    } else {
      taker_.ignore(names_.output);
    }
    w.layers.resize(config_.num_layers);
    for (layer_ = 0; layer_ < config_.num_layers; ++layer_) {
      TROUPE_TRY(read_attention(w.layers[layer_]));
      TROUPE_TRY(read_feed_forward(w.layers[layer_]));
    }
    ignore_the_rest();
    TROUPE_TRY(taker_.check_all_used(
        concat("a ", config_.num_layers, "-layer ", config_.architecture, " model")));
    return w;
  }

 private:
  Status matrix(Part part, uint32_t rows, uint32_t cols, Tensor& to) {
    if (!names_.has(part)) return {};
    TROUPE_ASSIGN(to, taker_.matrix(names_.of(layer_, part), rows, cols));
    return {};
  }

  Status vector(Part part, uint32_t size, Tensor& to) {
    if (!names_.has(part)) return {};
    TROUPE_ASSIGN(to, taker_.vector(names_.of(layer_, part), size));
    return {};
  }

  /// The bias beside a weight, if the file has one.
  Status bias(Part part, uint32_t size, Tensor& to) {
    if (!names_.has(part)) return {};
    const std::string name = bias_name(names_.of(layer_, part));
    if (!taker_.has(name)) return {};
    TROUPE_ASSIGN(to, taker_.vector(name, size));
    return {};
  }

  Status read_attention(LayerWeights& l) {
    TROUPE_TRY(vector(Part::attention_norm, hidden_, l.attention_norm));
    TROUPE_TRY(vector(Part::attention_post_norm, hidden_, l.attention_post_norm));
    TROUPE_TRY(vector(Part::sinks, config_.num_heads, l.sinks));
    const bool latent = config_.latent.kv_rank != 0;
    if (latent) TROUPE_TRY(read_latent(l));
    if (!latent) TROUPE_TRY(read_query_key_value(l));
    const uint32_t value_dim = latent ? config_.latent.value_dim : config_.head_dim;
    TROUPE_TRY(
        matrix(Part::attention_output, hidden_, config_.num_heads * value_dim, l.attention_output));
    return bias(Part::attention_output, hidden_, l.attention_output_bias);
  }

  Status read_query_key_value(LayerWeights& l) {
    const uint32_t query = config_.num_heads * config_.head_dim;
    const uint32_t kv = config_.num_kv_heads * config_.head_dim;
    if (names_.has(Part::query_key_value)) {
      TROUPE_TRY(read_fused(l, query, kv));
    } else {
      TROUPE_TRY(matrix(Part::query, query, hidden_, l.query));
      TROUPE_TRY(matrix(Part::key, kv, hidden_, l.key));
      TROUPE_TRY(matrix(Part::value, kv, hidden_, l.value));
      TROUPE_TRY(bias(Part::query, query, l.query_bias));
      TROUPE_TRY(bias(Part::key, kv, l.key_bias));
      TROUPE_TRY(bias(Part::value, kv, l.value_bias));
    }
    if (config_.qk_norm == QkNorm::none) return {};
    const bool whole = config_.qk_norm == QkNorm::whole;
    TROUPE_TRY(vector(Part::query_norm, whole ? query : config_.head_dim, l.query_norm));
    return vector(Part::key_norm, whole ? kv : config_.head_dim, l.key_norm);
  }

  Status read_fused(LayerWeights& l, uint32_t query, uint32_t kv) {
    Tensor all;
    TROUPE_TRY(matrix(Part::query_key_value, query + 2 * kv, hidden_, all));
    l.query = slice_rows(all, 0, query, all.name + "[query]");
    l.key = slice_rows(all, query, kv, all.name + "[key]");
    l.value = slice_rows(all, query + kv, kv, all.name + "[value]");
    return {};
  }

  Status read_latent(LayerWeights& l) {
    const LatentConfig& c = config_.latent;
    const uint32_t heads = config_.num_heads, rotated = config_.rope.dim;
    const uint32_t query = heads * (c.nope_dim + rotated);
    if (c.query_rank == 0) {
      TROUPE_TRY(matrix(Part::query, query, hidden_, l.query));
    } else {
      TROUPE_TRY(matrix(Part::query_down, c.query_rank, hidden_, l.latent.query_down));
      TROUPE_TRY(bias(Part::query_down, c.query_rank, l.latent.query_down_bias));
      TROUPE_TRY(vector(Part::query_down_norm, c.query_rank, l.latent.query_down_norm));
      TROUPE_TRY(matrix(Part::query_up, query, c.query_rank, l.query));
    }
    TROUPE_TRY(matrix(Part::latent_down, c.kv_rank + rotated, hidden_, l.latent.down));
    TROUPE_TRY(bias(Part::latent_down, c.kv_rank + rotated, l.latent.down_bias));
    TROUPE_TRY(vector(Part::latent_norm, c.kv_rank, l.latent.norm));
    TROUPE_TRY(read_latent_up(l.latent));
    if (config_.layer(layer_).selection != Selection::own) return {};
    const IndexerConfig& index = config_.indexer;
    TROUPE_TRY(matrix(Part::index_query, index.heads * index.dim, c.query_rank, l.indexer.query));
    TROUPE_TRY(matrix(Part::index_key, index.dim, hidden_, l.indexer.key));
    TROUPE_TRY(vector(Part::index_key_norm, index.dim, l.indexer.key_norm));
    TROUPE_TRY(bias(Part::index_key_norm, index.dim, l.indexer.key_norm_bias));
    return matrix(Part::index_weights, index.heads, hidden_, l.indexer.weights);
  }

  Status read_latent_up(LatentWeights& l) {
    const LatentConfig& c = config_.latent;
    const uint32_t heads = config_.num_heads;
    const std::string key_up = names_.in_layer(layer_, names_.key_up);
    if (names_.key_up.empty() || !taker_.has(key_up)) {
      return matrix(Part::latent_up, heads * (c.nope_dim + c.value_dim), c.kv_rank, l.up);
    }
    TROUPE_ASSIGN(const auto keys, taker_.stack(key_up, heads, c.kv_rank, c.nope_dim));
    TROUPE_ASSIGN(const auto values, taker_.stack(names_.in_layer(layer_, names_.value_up), heads,
                                                  c.value_dim, c.kv_rank));
    l.key_up = whole(keys, key_up);
    l.value_up = whole(values, names_.value_up);
    return {};
  }

  /// A stack as the one matrix that it lies as.
  static Tensor whole(const std::vector<Tensor>& stack, const std::string& name) {
    Tensor all = stack.front();
    all.name = name;
    all.rows *= static_cast<uint32_t>(stack.size());
    return all;
  }

  Status read_feed_forward(LayerWeights& l) {
    TROUPE_TRY(vector(Part::ffn_norm, hidden_, l.ffn_norm));
    TROUPE_TRY(vector(Part::ffn_post_norm, hidden_, l.ffn_post_norm));
    if (config_.layer(layer_).experts) return read_experts(l);
    if (names_.has(Part::gate_up)) {
      Tensor both;
      TROUPE_TRY(matrix(Part::gate_up, 2 * config_.ffn_size, hidden_, both));
      l.ffn.gate = slice_rows(both, 0, config_.ffn_size, both.name + "[gate]");
      l.ffn.up = slice_rows(both, config_.ffn_size, config_.ffn_size, both.name + "[up]");
      return matrix(Part::down, hidden_, config_.ffn_size, l.ffn.down);
    }
    return read_gated({Part::gate, Part::up, Part::down}, config_.ffn_size, l.ffn);
  }

  struct Gated {
    Part gate, up, down;
  };
  Status read_gated(const Gated& parts, uint32_t size, FfnWeights& to) {
    TROUPE_TRY(matrix(parts.gate, size, hidden_, to.gate));
    TROUPE_TRY(matrix(parts.up, size, hidden_, to.up));
    TROUPE_TRY(matrix(parts.down, hidden_, size, to.down));
    TROUPE_TRY(bias(parts.gate, size, to.gate_bias));
    TROUPE_TRY(bias(parts.up, size, to.up_bias));
    return bias(parts.down, hidden_, to.down_bias);
  }

  Status read_experts(LayerWeights& l) {
    const ExpertsConfig& e = config_.experts;
    TROUPE_TRY(matrix(Part::router, e.count, hidden_, l.router));
    TROUPE_TRY(bias(Part::router, e.count, l.router_bias));
    TROUPE_TRY(vector(Part::choice_bias, e.count, l.choice_bias));
    l.experts.resize(e.count);
    if (names_.has(Part::experts_gate_up)) {
      TROUPE_TRY(read_turned_experts(l.experts));
    } else {
      TROUPE_TRY(read_expert_part(Part::expert_gate, e.ffn_size, hidden_, &FfnWeights::gate,
                                  &FfnWeights::gate_bias, l.experts));
      TROUPE_TRY(read_expert_part(Part::expert_up, e.ffn_size, hidden_, &FfnWeights::up,
                                  &FfnWeights::up_bias, l.experts));
      TROUPE_TRY(read_expert_part(Part::expert_down, hidden_, e.ffn_size, &FfnWeights::down,
                                  &FfnWeights::down_bias, l.experts));
    }
    if (e.shared_ffn_size == 0) return {};
    return read_gated({Part::shared_gate, Part::shared_up, Part::shared_down}, e.shared_ffn_size,
                      l.shared);
  }

  /// One tensor for each expert, or all in one.
  Status read_expert_part(Part part, uint32_t rows, uint32_t cols, Tensor FfnWeights::*weight,
                          Tensor FfnWeights::*bias_of, std::vector<FfnWeights>& to) {
    const std::string name = names_.of(layer_, part);
    const auto count = static_cast<uint32_t>(to.size());
    if (const size_t hole = name.find("{}"); hole != std::string::npos) {
      for (uint32_t i = 0; i < count; ++i) {
        std::string own = name;
        own.replace(hole, 2, std::to_string(i));
        TROUPE_ASSIGN(to[i].*weight, taker_.matrix(own, rows, cols));
      }
      return {};
    }
    TROUPE_ASSIGN(const auto stack, taker_.stack(name, count, rows, cols));
    for (uint32_t i = 0; i < count; ++i) to[i].*weight = stack[i];
    return read_biases(bias_name(name), rows,
                       [&](uint32_t i) -> Tensor& { return to[i].*bias_of; });
  }

  template <class Slot>
  Status read_biases(const std::string& name, uint32_t size, Slot slot) {
    if (!taker_.has(name)) return {};
    TROUPE_ASSIGN(const Tensor all, taker_.matrix(name, config_.experts.count, size));
    for (uint32_t i = 0; i < config_.experts.count; ++i) {
      slot(i) = slice_rows(all, i, 1, concat(name, "[", i, "]"));
    }
    return {};
  }

  /// [expert][in][out], gate and up in turns along `out`; or with the last two turned, as weights
  /// in blocks have it.
  Status read_turned_experts(std::vector<FfnWeights>& to) {
    const ExpertsConfig& e = config_.experts;
    const std::string both = names_.of(layer_, Part::experts_gate_up);
    const std::string down = names_.of(layer_, Part::experts_down);
    TROUPE_TRY(taker_.has(concat(both, rows_are_outputs)) ? take_rows(both, down, to)
                                                          : take_columns(both, down, to));
    std::vector<Tensor> biases(e.count);
    TROUPE_TRY(read_biases(bias_name(both), 2 * e.ffn_size,
                           [&](uint32_t i) -> Tensor& { return biases[i]; }));
    TROUPE_TRY(read_biases(bias_name(down), hidden_,
                           [&](uint32_t i) -> Tensor& { return to[i].down_bias; }));
    for (uint32_t i = 0; i < e.count; ++i) {
      if (!biases[i].present()) continue;
      to[i].gate_bias = every_second(biases[i], 0, biases[i].name + "[gate]");
      to[i].up_bias = every_second(biases[i], 1, biases[i].name + "[up]");
    }
    return {};
  }

  Status take_columns(const std::string& both, const std::string& down,
                      std::vector<FfnWeights>& to) {
    const ExpertsConfig& e = config_.experts;
    TROUPE_ASSIGN(const auto gates, taker_.stack(both, e.count, hidden_, 2 * e.ffn_size));
    TROUPE_ASSIGN(const auto downs, taker_.stack(down, e.count, e.ffn_size, hidden_));
    for (uint32_t i = 0; i < e.count; ++i) {
      to[i].gate = columns_as_rows(gates[i], 0, 2, e.ffn_size, gates[i].name + "[gate]");
      to[i].up = columns_as_rows(gates[i], 1, 2, e.ffn_size, gates[i].name + "[up]");
      to[i].down = columns_as_rows(downs[i], 0, 1, hidden_, downs[i].name);
    }
    return {};
  }

  Status take_rows(const std::string& both, const std::string& down, std::vector<FfnWeights>& to) {
    const ExpertsConfig& e = config_.experts;
    TROUPE_ASSIGN(const auto gates,
                  taker_.stack(concat(both, rows_are_outputs), e.count, 2 * e.ffn_size, hidden_));
    TROUPE_ASSIGN(const auto downs,
                  taker_.stack(concat(down, rows_are_outputs), e.count, hidden_, e.ffn_size));
    std::vector<uint32_t> even, odd;
    for (uint32_t row = 0; row < 2 * e.ffn_size; ++row) (row % 2 == 0 ? even : odd).push_back(row);
    for (uint32_t i = 0; i < e.count; ++i) {
      to[i].gate = gather_rows(gates[i], even, gates[i].name + "[gate]");
      to[i].up = gather_rows(gates[i], odd, gates[i].name + "[up]");
      to[i].down = downs[i];
    }
    return {};
  }

  /// A row of every second element of a row of floats: as a matrix of one column, turned.
  static Tensor every_second(const Tensor& row, uint32_t first, std::string name) {
    Tensor column = columns_as_rows(row, first, 2, row.cols / 2, name);
    return columns_as_rows(column, 0, 1, 1, std::move(name));
  }

  /// Draft heads behind the last layer, and what is computed instead of read.
  void ignore_the_rest() {
    for (const auto& [name, tensor] : table_.all()) {
      if (name.ends_with("rotary_emb.inv_freq") || name.starts_with("rope_")) taker_.ignore(name);
      if (!name.starts_with(names_.layers)) continue;
      uint64_t layer = 0;
      size_t at = names_.layers.size();
      while (at < name.size() && name[at] >= '0' && name[at] <= '9' && layer < UINT32_MAX) {
        layer = layer * 10 + static_cast<uint64_t>(name[at++] - '0');
      }
      if (layer >= config_.num_layers) taker_.ignore(name);
    }
  }

  const TensorTable& table_;
  TensorTaker taker_;
  const WeightNames& names_;
  const ModelConfig& config_;
  uint32_t hidden_;
  uint32_t layer_ = 0;
};

}  // namespace

Result<Weights> read_weights(const TensorTable& table, const WeightNames& names,
                             const ModelConfig& config) {
  return WeightsReader(table, names, config).read();
}

}  // namespace troupe::model
