#include "model/gguf_config.hpp"

#include <cmath>
#include <string>

#include "base/concat.hpp"
#include "model/gguf_config_parts.hpp"
#include "model/gguf_rope.hpp"
#include "model/json.hpp"
#include "model/limits.hpp"
#include "model/quoted.hpp"

namespace troupe::model {
namespace {

/// Reads the keys that all architectures share.
class GgufConfigReader {
 public:
  GgufConfigReader(const GgufFile& file, const Family& family, std::string architecture)
      : file_(file), family_(family), keys_(file, std::move(architecture)) {}

  Result<ModelConfig> read() {
    ModelConfig c;
    c.architecture = family_.name;
    TROUPE_ASSIGN(const auto model_name, find_text(file_, "general.name"));
    c.name = model_name.value_or("");
    TROUPE_TRY(refuse_variants());
    TROUPE_TRY(read_sizes(c));
    uint32_t rotated = 0;
    if (family_.latent) {
      TROUPE_ASSIGN(c.num_heads, keys_.number("attention.head_count", limits::heads_max));
      TROUPE_ASSIGN(rotated, read_gguf_latent(keys_, c));
    } else {
      TROUPE_TRY(read_heads(c));
    }
    TROUPE_ASSIGN(c.vocab_size, vocab_size());
    TROUPE_ASSIGN(c.norm_epsilon, epsilon());
    TROUPE_TRY(read_gguf_rope(keys_, family_, rotated, c));
    TROUPE_TRY(read_scales(c));
    if (family_.routing) TROUPE_TRY(read_gguf_experts(keys_, family_, c));
    TROUPE_TRY(read_gguf_layers(keys_, family_, c));
    c.tied_embedding = file_.tensor("output.weight") == nullptr;
    return c;
  }

 private:
  Status read_sizes(ModelConfig& c) {
    TROUPE_ASSIGN(const uint32_t blocks, keys_.number("block_count", limits::layers_max));
    // Draft heads are counted as blocks.
    TROUPE_ASSIGN(const uint32_t drafts,
                  keys_.number_or("nextn_predict_layers", 0, limits::layers_max));
    if (drafts >= blocks) {
      return error(Code::corrupt,
                   concat("the model has ", blocks, " blocks of which ", drafts, " draft"),
                   "fewer draft heads than blocks");
    }
    c.num_layers = blocks - drafts;
    TROUPE_ASSIGN(c.hidden_size, keys_.number("embedding_length", limits::hidden_max));
    TROUPE_ASSIGN(c.context_max, keys_.number("context_length", limits::context_max));
    if (family_.routing) {
      // Models of experts alone may leave it out.
      TROUPE_ASSIGN(c.ffn_size, keys_.number_or("feed_forward_length", 0, limits::ffn_max));
      if (c.ffn_size != 0) return {};
      TROUPE_ASSIGN(c.ffn_size, keys_.number("expert_feed_forward_length", limits::ffn_max));
      return {};
    }
    TROUPE_ASSIGN(c.ffn_size, keys_.number("feed_forward_length", limits::ffn_max));
    return {};
  }

  Status read_heads(ModelConfig& c) {
    for (const char* name : {"attention.head_count", "attention.head_count_kv"}) {
      const GgufValue* value = file_.value(keys_.key(name));
      if (value != nullptr && value->type == GgufType::array) {
        return error(Code::unsupported,
                     concat("the metadata key ", keys_.key(name), " is an array"),
                     "models with the same number of heads in every layer are supported");
      }
    }
    TROUPE_ASSIGN(c.num_heads, keys_.number("attention.head_count", limits::heads_max));
    c.num_kv_heads = c.num_heads;
    if (file_.value(keys_.key("attention.head_count_kv")) != nullptr) {
      TROUPE_ASSIGN(c.num_kv_heads, keys_.number("attention.head_count_kv", limits::heads_max));
    }
    if (c.num_heads % c.num_kv_heads != 0) {
      return error(
          Code::corrupt,
          concat("the model has ", c.num_heads, " heads and ", c.num_kv_heads, " key-value heads"),
          "the heads are a multiple of the key-value heads");
    }
    return read_head_dim(c);
  }

  Status read_head_dim(ModelConfig& c) {
    const std::string key = keys_.key("attention.key_length");
    TROUPE_ASSIGN(const auto key_length, find_unsigned(file_, key));
    if (!key_length && c.hidden_size % c.num_heads != 0) {
      return error(Code::corrupt,
                   concat("the embedding length ", c.hidden_size, " is no multiple of the ",
                          c.num_heads, " heads and ", key, " is missing"),
                   concat("give the length of a head in ", key));
    }
    TROUPE_ASSIGN(c.head_dim, within(key, key_length.value_or(c.hidden_size / c.num_heads),
                                     limits::head_dim_max));
    TROUPE_ASSIGN(const auto value_length,
                  find_unsigned(file_, keys_.key("attention.value_length")));
    if (value_length.value_or(c.head_dim) != c.head_dim) {
      return error(
          Code::unsupported,
          concat("keys have ", c.head_dim, " elements per head and values ", *value_length),
          "models with equal lengths are supported");
    }
    if (c.head_dim % 2 != 0) {
      return error(Code::corrupt, concat("a head has ", c.head_dim, " elements"),
                   "an even number, since pairs are rotated");
    }
    return {};
  }

  Result<uint32_t> vocab_size() {
    const std::string key = keys_.key("vocab_size");
    TROUPE_ASSIGN(const auto announced, find_unsigned(file_, key));
    if (announced) return within(key, *announced, limits::vocab_max);
    const GgufValue* tokens = file_.value("tokenizer.ggml.tokens");
    if (tokens != nullptr && tokens->type == GgufType::array) {
      return within("tokenizer.ggml.tokens", tokens->count, limits::vocab_max);
    }
    return error(Code::corrupt,
                 concat("neither ", key,
                        " nor tokenizer.ggml.tokens says how many tokens there "
                        "are"),
                 "one of the two keys");
  }

  Result<float> epsilon() {
    const std::string key = keys_.key("attention.layer_norm_rms_epsilon");
    TROUPE_ASSIGN(const double value, required(find_float(file_, key), key));
    if (!(value > 0.0 && value <= 1.0)) {
      return error(Code::corrupt, concat("the metadata key ", key, " is ", value),
                   "a small positive number, for instance 1e-05");
    }
    return static_cast<float>(value);
  }

  /// A positive number up to 1e6; 0 where there is no such key.
  Result<float> positive(const char* name) {
    TROUPE_ASSIGN(const auto value, keys_.real(name));
    if (!value || *value == 0.0) return 0.0f;
    if (!(*value > 0.0 && *value <= 1e6)) {
      return error(Code::corrupt, concat("the metadata key ", keys_.key(name), " is ", *value),
                   "a positive number up to 1e6");
    }
    return static_cast<float>(*value);
  }

  Status read_scales(ModelConfig& c) {
    c.activation = family_.activation;
    c.qk_norm = family_.qk_norm;
    if (family_.scaled_embedding) c.embedding_scale = std::sqrt(static_cast<float>(c.hidden_size));
    TROUPE_ASSIGN(const float scale, positive("attention.scale"));
    if (scale != 0.0f) c.attention_scale = scale;
    if (scale == 0.0f && family_.gguf_wide_scale_layers == c.num_layers) {
      c.attention_scale =
          1.0f / std::sqrt(static_cast<float>(c.hidden_size) / static_cast<float>(c.num_heads));
    }
    TROUPE_ASSIGN(c.attention_cap, positive("attn_logit_softcapping"));
    TROUPE_ASSIGN(c.logit_cap, positive("final_logit_softcapping"));
    TROUPE_ASSIGN(const Json defaults, parse_json(family_.defaults));
    if (c.activation == Activation::clamped_swiglu) {
      c.swiglu_limit = static_cast<float>(defaults.find("swiglu_limit")->number().value());
      c.swiglu_alpha = static_cast<float>(defaults.find("swiglu_alpha")->number().value());
    }
    // Some models of the family have no norms of heads, and only the tensors tell.
    if (defaults.find("use_qk_norm") != nullptr &&
        file_.tensor("blk.0.attn_q_norm.weight") == nullptr) {
      c.qk_norm = QkNorm::none;
    }
    return {};
  }

  /// What would be computed wrongly if it were ignored.
  Status refuse_variants() {
    TROUPE_ASSIGN(const auto experts, find_unsigned(file_, keys_.key("expert_count")));
    if (experts.value_or(0) != 0 && !family_.routing) {
      return error(Code::unsupported, concat("the model has ", *experts, " experts per layer"),
                   concat("dense ", family_.name, " models are supported"));
    }
    TROUPE_ASSIGN(const bool causal, keys_.flag_or("attention.causal", true));
    if (!causal) {
      return error(Code::unsupported, "the model attends to later tokens (attention.causal)",
                   "causal models generate text");
    }
    return {};
  }

  const GgufFile& file_;
  const Family& family_;
  GgufKeys keys_;
};

Result<std::string> architecture_of(const GgufFile& file) {
  const std::string key = "general.architecture";
  TROUPE_ASSIGN(const std::string_view name, required(find_text(file, key), key));
  return std::string(name);
}

}  // namespace

Result<uint32_t> within(std::string_view key, uint64_t value, uint32_t limit) {
  if (value == 0) {
    return error(Code::corrupt, concat("the metadata key ", key, " is 0"),
                 concat("a number from 1 to ", limit));
  }
  if (value > limit) {
    return error(Code::exhausted, concat("the metadata key ", key, " is ", value),
                 concat("at most ", limit, " is supported"));
  }
  return static_cast<uint32_t>(value);
}

Result<Family> gguf_family(const GgufFile& file) {
  TROUPE_ASSIGN(const std::string architecture, architecture_of(file));
  const Family* family = family_of_gguf(architecture);
  if (family == nullptr) {
    return error(Code::unsupported,
                 concat("the model's architecture is ", model::quoted(architecture)),
                 concat("supported: ", known_gguf_architectures()));
  }
  if (family->gguf_with_experts == nullptr) return *family;
  const GgufKeys keys(file, architecture);
  TROUPE_ASSIGN(const uint32_t experts, keys.number_or("expert_count", 0, limits::experts_max));
  TROUPE_ASSIGN(const uint32_t gate, keys.number_or("expert_gating_func", 0, 16));
  if (experts == 0 || (family->latent && gate != gguf_gating_sigmoid)) return *family;
  return family->gguf_with_experts();
}

Result<ModelConfig> read_config(const GgufFile& file, const Family& family) {
  TROUPE_ASSIGN(std::string architecture, architecture_of(file));
  return GgufConfigReader(file, family, std::move(architecture)).read();
}

}  // namespace troupe::model
