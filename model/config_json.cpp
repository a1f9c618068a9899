#include "model/config_json.hpp"

#include <cmath>
#include <string>

#include "base/concat.hpp"
#include "model/config_json_parts.hpp"
#include "model/limits.hpp"
#include "model/quoted.hpp"

namespace troupe::model {
namespace {

constexpr const char* file_name = "config.json";

Status read_sizes(const ConfigFields& fields, ModelConfig& c) {
  TROUPE_ASSIGN(c.num_layers, fields.required("num_hidden_layers", 1, limits::layers_max));
  TROUPE_ASSIGN(c.hidden_size, fields.required("hidden_size", 1, limits::hidden_max));
  TROUPE_ASSIGN(c.ffn_size, fields.required("intermediate_size", 1, limits::ffn_max));
  TROUPE_ASSIGN(c.vocab_size, fields.required("vocab_size", 1, limits::vocab_max));
  TROUPE_ASSIGN(c.context_max, fields.required("max_position_embeddings", 1, limits::context_max));
  return {};
}

Status read_heads(const ConfigFields& fields, const Family& family, ModelConfig& c) {
  TROUPE_ASSIGN(c.num_heads, fields.required("num_attention_heads", 1, limits::heads_max));
  if (family.latent) return {};
  TROUPE_ASSIGN(const auto kv_heads, fields.count("num_key_value_heads", 1, limits::heads_max));
  c.num_kv_heads = kv_heads.value_or(c.num_heads);
  if (c.num_heads % c.num_kv_heads != 0) {
    return fields.bad("num_key_value_heads", std::to_string(c.num_kv_heads),
                      concat("a divisor of the ", c.num_heads, " heads"));
  }
  TROUPE_ASSIGN(const auto head_dim, fields.count("head_dim", 1, limits::head_dim_max));
  if (!head_dim && c.hidden_size % c.num_heads != 0) {
    return fields.bad("hidden_size", std::to_string(c.hidden_size),
                      concat("a multiple of the ", c.num_heads, " heads, or head_dim is given"));
  }
  c.head_dim = head_dim.value_or(c.hidden_size / c.num_heads);
  if (c.head_dim == 0 || c.head_dim > limits::head_dim_max || c.head_dim % 2 != 0) {
    return fields.bad("head_dim", std::to_string(c.head_dim),
                      concat("an even number from 2 to ", limits::head_dim_max));
  }
  return {};
}

/// A positive number, 0 where the key is absent.
Result<float> positive(const ConfigFields& fields, std::string_view key, double highest) {
  TROUPE_ASSIGN(const auto value, fields.number(key));
  if (!value) return 0.0f;
  if (!(*value > 0.0 && *value <= highest)) {
    return fields.bad(key, concat(*value), concat("a positive number up to ", highest));
  }
  return static_cast<float>(*value);
}

Result<Activation> read_activation(const ConfigFields& fields, const Family& family) {
  if (family.activation == Activation::clamped_swiglu) return family.activation;
  const std::string_view key = fields.first_of({"hidden_activation", "hidden_act"});
  TROUPE_ASSIGN(const auto name, fields.text(key));
  if (!name) return family.activation;
  if (*name == "silu" || *name == "swish") return Activation::silu;
  if (*name == "gelu_pytorch_tanh" || *name == "gelu_new") return Activation::gelu_tanh;
  return error(Code::unsupported, concat(fields.where(), ": ", key, " is ", model::quoted(*name)),
               "supported: silu, gelu_pytorch_tanh");
}

Status read_scales(const ConfigFields& fields, const Family& family, ModelConfig& c) {
  TROUPE_ASSIGN(const float epsilon, positive(fields, "rms_norm_eps", 1.0));
  if (epsilon == 0.0f) {
    return fields.bad("rms_norm_eps", "missing or 0", "a small positive number such as 1e-05");
  }
  c.norm_epsilon = epsilon;
  c.norm_offset = family.norm_offset;
  if (family.scaled_embedding) c.embedding_scale = std::sqrt(static_cast<float>(c.hidden_size));
  TROUPE_ASSIGN(const float scalar, positive(fields, "query_pre_attn_scalar", 1e6));
  if (scalar > 0.0f) c.attention_scale = 1.0f / std::sqrt(scalar);
  TROUPE_ASSIGN(c.attention_cap, positive(fields, "attn_logit_softcapping", 1e6));
  TROUPE_ASSIGN(c.logit_cap, positive(fields, "final_logit_softcapping", 1e6));
  TROUPE_ASSIGN(c.activation, read_activation(fields, family));
  if (c.activation == Activation::clamped_swiglu) {
    TROUPE_ASSIGN(c.swiglu_limit, positive(fields, "swiglu_limit", 1e6));
    TROUPE_ASSIGN(c.swiglu_alpha, positive(fields, "swiglu_alpha", 1e6));
  }
  c.qk_norm = family.qk_norm;
  TROUPE_ASSIGN(const auto use_qk_norm, fields.boolean("use_qk_norm"));
  if (!use_qk_norm.value_or(true)) c.qk_norm = QkNorm::none;
  return {};
}

/// What would be computed wrongly if it were ignored.
Status refuse_variants(const ConfigFields& fields) {
  TROUPE_ASSIGN(const auto both_ways, fields.boolean("use_bidirectional_attention"));
  if (both_ways.value_or(false)) {
    return error(Code::unsupported, concat(fields.where(), ": use_bidirectional_attention is true"),
                 "causal models generate text");
  }
  return {};
}

}  // namespace

Result<const Family*> family_of_config(const Json& config) {
  const ConfigFields fields(config, nullptr, file_name);
  TROUPE_ASSIGN(const auto type, fields.text("model_type"));
  if (!type) {
    return error(Code::corrupt, concat(file_name, ": model_type is missing"),
                 concat("one of ", known_model_types()));
  }
  const Family* family = family_of_model_type(*type);
  if (family == nullptr) {
    return error(Code::unsupported, concat(file_name, ": model_type is ", model::quoted(*type)),
                 concat("supported: ", known_model_types()));
  }
  return family;
}

Result<ModelConfig> read_config(const Json& config, const Family& family) {
  TROUPE_ASSIGN(const Json defaults, parse_json(family.defaults));
  const ConfigFields fields(config, &defaults, file_name);
  ModelConfig c;
  c.architecture = family.name;
  TROUPE_TRY(refuse_variants(fields));
  TROUPE_TRY(read_sizes(fields, c));
  TROUPE_TRY(read_heads(fields, family, c));
  TROUPE_TRY(read_scales(fields, family, c));
  uint32_t rotated = 0;
  if (family.latent) {
    TROUPE_ASSIGN(rotated, read_json_latent(fields, family, c));
  }
  TROUPE_TRY(read_json_rope(fields, family, rotated, c));
  if (family.routing) TROUPE_TRY(read_json_experts(fields, family, c));
  TROUPE_TRY(read_json_layers(fields, family, c));
  TROUPE_ASSIGN(const auto tied, fields.boolean("tie_word_embeddings"));
  c.tied_embedding = tied.value_or(false);
  return c;
}

}  // namespace troupe::model
