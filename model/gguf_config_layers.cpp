#include <cmath>

#include "base/concat.hpp"
#include "model/config_json_parts.hpp"
#include "model/gguf_config_parts.hpp"
#include "model/limits.hpp"

namespace troupe::model {

Result<uint32_t> read_gguf_latent(const GgufKeys& keys, ModelConfig& config) {
  LatentConfig& l = config.latent;
  TROUPE_ASSIGN(l.kv_rank, keys.number("attention.kv_lora_rank", limits::latent_rank_max));
  TROUPE_ASSIGN(l.query_rank, keys.number_or("attention.q_lora_rank", 0, limits::hidden_max));
  TROUPE_ASSIGN(const uint32_t rotated, keys.number("rope.dimension_count", limits::head_dim_max));
  // Converters that store the up-projection in two halves give the latent's lengths as well.
  const bool halves = keys.file().value(keys.key("attention.key_length_mla")) != nullptr;
  const char* key_name = halves ? "attention.key_length_mla" : "attention.key_length";
  const char* value_name = halves ? "attention.value_length_mla" : "attention.value_length";
  TROUPE_ASSIGN(const uint32_t key, keys.number(key_name, limits::head_dim_max));
  TROUPE_ASSIGN(l.value_dim, keys.number(value_name, limits::head_dim_max));
  if (rotated % 2 != 0 || rotated >= key) {
    return error(Code::corrupt,
                 concat("the metadata key ", keys.key("rope.dimension_count"), " is ", rotated),
                 concat("an even number below the ", key, " elements of a head"));
  }
  l.nope_dim = key - rotated;
  config.num_kv_heads = 1;
  config.head_dim = l.kv_rank + rotated;
  config.attention_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(key)));
  return rotated;
}

Status read_gguf_experts(const GgufKeys& keys, const Family& family, ModelConfig& config) {
  ExpertsConfig& e = config.experts;
  e.routing = *family.routing;
  e.group_top = family.group_top;
  TROUPE_ASSIGN(e.count, keys.number("expert_count", limits::experts_max));
  TROUPE_ASSIGN(e.per_token, keys.number("expert_used_count", limits::experts_max));
  TROUPE_ASSIGN(e.ffn_size,
                keys.number_or("expert_feed_forward_length", config.ffn_size, limits::ffn_max));
  if (family.has(Part::shared_gate)) {
    TROUPE_ASSIGN(const uint32_t shared,
                  keys.number_or("expert_shared_count", 0, limits::experts_max));
    const uint64_t size = uint64_t{shared} * e.ffn_size;
    if (size > limits::ffn_max) {
      return error(Code::exhausted, concat(shared, " shared experts of ", e.ffn_size),
                   concat("at most ", limits::ffn_max, " together"));
    }
    e.shared_ffn_size = static_cast<uint32_t>(size);
  }
  TROUPE_ASSIGN(const auto scale, keys.real("expert_weights_scale"));
  if (scale.value_or(0.0) != 0.0) e.scale = static_cast<float>(*scale);
  if (!(e.scale > 0.0f && e.scale <= 1e6f)) {
    return error(Code::corrupt,
                 concat("the metadata key ", keys.key("expert_weights_scale"), " is ", *scale),
                 "a positive number up to 1e6");
  }
  // Where the key is absent, only DeepSeek's weights are taken as they are.
  TROUPE_ASSIGN(e.normalized, keys.flag_or("expert_weights_norm", !family.latent));
  e.normalized = e.normalized && e.routing != Routing::chosen_softmax;
  TROUPE_ASSIGN(e.groups, keys.number_or("expert_group_count", 1, limits::experts_max));
  TROUPE_ASSIGN(e.groups_kept, keys.number_or("expert_group_used_count", 1, limits::experts_max));
  if (e.groups == 0 || e.groups_kept == 0) e.groups = e.groups_kept = 1;
  return check_experts(e, "the metadata");
}

namespace {

/// Which layers have a window: as the file says, for each layer or by a period whose last layer has
/// none, else as the family has it.
Result<std::vector<bool>> windowed_layers(const GgufKeys& keys, const Family& family,
                                          uint32_t num_layers) {
  constexpr const char* name = "attention.sliding_window_pattern";
  std::vector<bool> windowed(num_layers, family.windows == Windows::all);
  if (family.windows != Windows::alternate && family.windows != Windows::pattern) return windowed;
  const GgufValue* value = keys.file().value(keys.key(name));
  if (value != nullptr && value->type == GgufType::array) {
    TROUPE_ASSIGN(auto flags, required(find_flags(keys.file(), keys.key(name)), keys.key(name)));
    if (flags.size() != num_layers) {
      return error(Code::corrupt, concat("the metadata key ", keys.key(name), " has ", flags.size(),
                                         " elements, the model has ", num_layers, " layers"));
    }
    return flags;
  }
  const uint32_t usual = family.windows == Windows::pattern ? 6 : 2;
  TROUPE_ASSIGN(const uint32_t period, keys.number_or(name, usual, limits::layers_max));
  for (uint32_t i = 0; i < num_layers; ++i) windowed[i] = period == 0 || (i + 1) % period != 0;
  return windowed;
}

}  // namespace

Status read_gguf_layers(const GgufKeys& keys, const Family& family, ModelConfig& config) {
  config.layers.assign(config.num_layers, LayerConfig{});
  TROUPE_ASSIGN(const uint32_t window,
                keys.number_or("attention.sliding_window", 0, limits::context_max));
  TROUPE_ASSIGN(const uint32_t dense,
                keys.number_or("leading_dense_block_count", 0, limits::layers_max));
  TROUPE_ASSIGN(const std::vector<bool> windowed, windowed_layers(keys, family, config.num_layers));
  for (uint32_t i = 0; i < config.num_layers; ++i) {
    LayerConfig& layer = config.layers[i];
    if (windowed[i] && window != 0) {
      layer.window = window;
      layer.local_rope = family.local_rope;
    }
    layer.rotates = family.nope_interval == 0 || (i + 1) % family.nope_interval != 0;
    layer.experts = family.routing && i >= dense;
  }
  return {};
}

}  // namespace troupe::model
