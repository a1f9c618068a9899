#include "model/gguf_config.hpp"

#include <cmath>
#include <string>

#include "base/concat.hpp"
#include "model/gguf_fields.hpp"
#include "model/gguf_rope.hpp"
#include "model/limits.hpp"
#include "model/quoted.hpp"

namespace troupe::model {
namespace {

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

/// Reads llama.* keys.
class LlamaReader {
 public:
  explicit LlamaReader(const GgufFile& file) : file_(file) {}

  Result<ModelConfig> read() {
    ModelConfig c;
    c.architecture = "llama";
    TROUPE_ASSIGN(const auto model_name, find_text(file_, "general.name"));
    c.name = model_name.value_or("");
    TROUPE_TRY(refuse_variants());
    TROUPE_TRY(read_sizes(c));
    TROUPE_TRY(read_heads(c));
    TROUPE_ASSIGN(c.vocab_size, vocab_size());
    TROUPE_ASSIGN(c.norm_epsilon, epsilon());
    TROUPE_ASSIGN(c.rope, read_rope(file_, c.architecture, c.head_dim));
    c.tied_embedding = file_.tensor("output.weight") == nullptr;
    return c;
  }

 private:
  Result<uint32_t> number(const std::string& key, uint32_t limit) {
    TROUPE_ASSIGN(const uint64_t value, required(find_unsigned(file_, key), key));
    return within(key, value, limit);
  }

  Status read_sizes(ModelConfig& c) {
    TROUPE_ASSIGN(c.num_layers, number("llama.block_count", limits::layers_max));
    TROUPE_ASSIGN(c.hidden_size, number("llama.embedding_length", limits::hidden_max));
    TROUPE_ASSIGN(c.ffn_size, number("llama.feed_forward_length", limits::ffn_max));
    TROUPE_ASSIGN(c.context_max, number("llama.context_length", limits::context_max));
    return {};
  }

  Status read_heads(ModelConfig& c) {
    for (const char* key : {"llama.attention.head_count", "llama.attention.head_count_kv"}) {
      const GgufValue* value = file_.value(key);
      if (value != nullptr && value->type == GgufType::array) {
        return error(Code::unsupported, concat("the metadata key ", key, " is an array"),
                     "models with the same number of heads in every layer are supported");
      }
    }
    TROUPE_ASSIGN(c.num_heads, number("llama.attention.head_count", limits::heads_max));
    c.num_kv_heads = c.num_heads;
    if (file_.value("llama.attention.head_count_kv") != nullptr) {
      TROUPE_ASSIGN(c.num_kv_heads, number("llama.attention.head_count_kv", limits::heads_max));
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
    const std::string key = "llama.attention.key_length";
    TROUPE_ASSIGN(const auto key_length, find_unsigned(file_, key));
    if (!key_length && c.hidden_size % c.num_heads != 0) {
      return error(Code::corrupt,
                   concat("the embedding length ", c.hidden_size, " is no multiple of the ",
                          c.num_heads, " heads and ", key, " is missing"),
                   concat("give the length of a head in ", key));
    }
    TROUPE_ASSIGN(c.head_dim, within(key, key_length.value_or(c.hidden_size / c.num_heads),
                                     limits::head_dim_max));
    TROUPE_ASSIGN(const auto value_length, find_unsigned(file_, "llama.attention.value_length"));
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
    const std::string key = "llama.vocab_size";
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
    const std::string key = "llama.attention.layer_norm_rms_epsilon";
    TROUPE_ASSIGN(const double value, required(find_float(file_, key), key));
    if (!(value > 0.0 && value <= 1.0)) {
      return error(Code::corrupt, concat("the metadata key ", key, " is ", value),
                   "a small positive number, for instance 1e-05");
    }
    return static_cast<float>(value);
  }

  /// What would be computed wrongly if it were ignored.
  Status refuse_variants() {
    TROUPE_ASSIGN(const auto experts, find_unsigned(file_, "llama.expert_count"));
    if (experts.value_or(0) != 0) {
      return error(Code::unsupported, concat("the model has ", *experts, " experts per layer"),
                   "dense llama models are supported");
    }
    TROUPE_ASSIGN(const auto parts, find_unsigned(file_, "split.count"));
    if (parts.value_or(1) > 1) {
      return error(Code::unsupported, concat("the file is one of ", *parts, " parts of a model"),
                   "join them first: llama-gguf-split --merge FIRST_PART OUTPUT");
    }
    TROUPE_ASSIGN(const auto causal, find_bool(file_, "llama.attention.causal"));
    if (!causal.value_or(true)) {
      return error(Code::unsupported, "the model attends to later tokens (attention.causal)",
                   "causal models generate text");
    }
    return {};
  }

  const GgufFile& file_;
};

}  // namespace

const char* supported_architectures() {
  return "llama";
}

Result<ModelConfig> read_config(const GgufFile& file) {
  const std::string key = "general.architecture";
  TROUPE_ASSIGN(const std::string_view architecture, required(find_text(file, key), key));
  if (architecture != "llama") {
    return error(Code::unsupported, concat("the model's architecture is ", quoted(architecture)),
                 concat("supported: ", supported_architectures()));
  }
  return LlamaReader(file).read();
}

}  // namespace troupe::model
