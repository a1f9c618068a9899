// config.json in both spellings, and what is wrong in it.
#include "model/config_json.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <string>

using namespace troupe;

namespace {

using Keys = std::map<std::string, std::string>;

std::string text_of(const Keys& keys) {
  std::string text = "{";
  for (const auto& [key, value] : keys) {
    text += (text.size() > 1 ? ", \"" : "\"") + key + "\": " + value;
  }
  return text + "}";
}

Result<model::ModelConfig> read(const Keys& keys) {
  const auto json = model::parse_json(text_of(keys));
  REQUIRE(json.ok());
  TROUPE_ASSIGN(const model::Family* family, model::family_of_config(*json));
  return model::read_config(*json, *family);
}

model::ModelConfig good(const Keys& keys) {
  auto config = read(keys);
  if (!config.ok()) FAIL(config.error().message());
  return *config;
}

Keys llama() {
  return {{"model_type", "\"llama\""},     {"hidden_size", "64"},
          {"intermediate_size", "96"},     {"num_hidden_layers", "3"},
          {"num_attention_heads", "4"},    {"num_key_value_heads", "2"},
          {"vocab_size", "100"},           {"max_position_embeddings", "512"},
          {"rms_norm_eps", "1e-05"},       {"rope_theta", "10000.0"},
          {"tie_word_embeddings", "false"}};
}

Keys experts() {
  Keys keys = llama();
  keys["model_type"] = "\"deepseek_v3\"";
  keys["n_routed_experts"] = "8";
  keys["num_experts_per_tok"] = "3";
  keys["moe_intermediate_size"] = "32";
  keys["n_group"] = "4";
  keys["topk_group"] = "2";
  keys["first_k_dense_replace"] = "1";
  keys["kv_lora_rank"] = "32";
  keys["q_lora_rank"] = "null";
  keys["qk_nope_head_dim"] = "16";
  keys["qk_rope_head_dim"] = "8";
  keys["v_head_dim"] = "24";
  return keys;
}

void refused(const Keys& base, const std::string& key, const std::string& value, Code code,
             const std::string& what, const std::string& hint) {
  Keys keys = base;
  keys[key] = value;
  if (value.empty()) keys.erase(key);
  CAPTURE(key);
  CAPTURE(value);
  const auto config = read(keys);
  REQUIRE(!config.ok());
  CHECK(config.error().code == code);
  CAPTURE(config.error().message());
  CHECK(config.error().what.find(what) != std::string::npos);
  CHECK(config.error().what.find("config.json") != std::string::npos);
  CHECK(config.error().hint.find(hint) != std::string::npos);
}

}  // namespace

TEST_CASE("a llama in the older spelling and in that of transformers 5") {
  const model::ModelConfig old = good(llama());
  CHECK(old.architecture == "llama");
  CHECK(old.head_dim == 16);
  CHECK(old.num_kv_heads == 2);
  CHECK(old.rope.pairing == model::RopePairing::neox);
  CHECK(old.rope.dim == 16);
  CHECK(old.norm_epsilon == 1e-5f);
  CHECK(old.layers.size() == 3);
  CHECK(old.layers[2].window == 0);
  Keys keys = llama();
  keys.erase("rope_theta");
  keys["rope_parameters"] = R"({"rope_theta": 10000.0, "rope_type": "default"})";
  CHECK(good(keys).rope.inverse_frequency == old.rope.inverse_frequency);

  keys = llama();
  keys["rope_scaling"] = R"({"type": "linear", "factor": 4.0})";
  const auto linear = good(keys).rope.inverse_frequency;
  CHECK(linear[1] == old.rope.inverse_frequency[1] / 4.0);
  keys = llama();
  keys["rope_parameters"] = R"({"rope_theta": 10000.0, "rope_type": "linear", "factor": 4.0})";
  CHECK(good(keys).rope.inverse_frequency == linear);
}

TEST_CASE("what a class assumes where the file is silent, and null is not silence") {
  Keys keys = llama();
  keys["model_type"] = "\"mistral\"";
  CHECK(good(keys).layers[0].window == 4096);
  keys["sliding_window"] = "null";
  CHECK(good(keys).layers[0].window == 0);
  keys["model_type"] = "\"gemma2\"";
  keys.erase("tie_word_embeddings");
  keys["sliding_window"] = "32";
  const model::ModelConfig gemma = good(keys);
  CHECK(gemma.tied_embedding);
  CHECK(gemma.head_dim == 256);
  CHECK(gemma.attention_cap == 50.0f);
  CHECK(gemma.layers[0].window == 32);
  CHECK(gemma.layers[1].window == 0);
  CHECK(gemma.embedding_scale == 8.0f);
  CHECK(gemma.activation == model::Activation::gelu_tanh);
}

TEST_CASE("layers that differ") {
  Keys keys = llama();
  keys["model_type"] = "\"smollm3\"";
  keys["no_rope_layers"] = "[1, 0, 1]";
  CHECK(!good(keys).layers[1].rotates);
  keys["no_rope_layers"] = "[1, 0]";
  CHECK(read(keys).error().what.find("no_rope_layers is a list of 2") != std::string::npos);

  keys = experts();
  const model::ModelConfig c = good(keys);
  CHECK(!c.layers[0].experts);
  CHECK(c.layers[1].experts);
  CHECK(c.head_dim == 40);
  CHECK(c.num_kv_heads == 1);
  CHECK(c.latent.query_rank == 0);
  CHECK(c.experts.group_top == 2);
  CHECK(c.experts.normalized);

  keys["model_type"] = "\"glm_moe_dsa\"";
  keys["q_lora_rank"] = "48";
  keys["index_topk_freq"] = "2";
  const model::ModelConfig sparse = good(keys);
  CHECK(sparse.layers[1].selection == model::Selection::own);
  CHECK(sparse.layers[2].selection == model::Selection::shared);
  keys["index_topk_pattern"] = "\"FSF\"";
  CHECK(good(keys).layers[1].selection == model::Selection::shared);
}

TEST_CASE("longrope is resolved by the context, in the file's own keys") {
  Keys keys = llama();
  keys["model_type"] = "\"phi3\"";
  keys["original_max_position_embeddings"] = "128";
  keys["rope_scaling"] = R"({"type": "longrope",
      "short_factor": [1, 1, 1, 1, 1, 1, 1, 1], "long_factor": [2, 2, 2, 2, 2, 2, 2, 4]})";
  const model::ModelConfig c = good(keys);
  CHECK(c.rope.original_context == 128);
  CHECK(c.rope.inverse_frequency[0] == 0.5);
  refused(keys, "rope_scaling", R"({"type": "longrope", "short_factor": [1]})", Code::corrupt,
          "short_factor is a list of 1", "8 are expected");
}

TEST_CASE("numbers that are wrong, missing or too large") {
  refused(llama(), "num_attention_heads", "0", Code::corrupt, "num_attention_heads is 0", "1 to");
  refused(llama(), "num_hidden_layers", "", Code::corrupt, "num_hidden_layers is missing", "1 to");
  refused(llama(), "hidden_size", "\"64\"", Code::corrupt, "hidden_size is \"64\"", "whole number");
  refused(llama(), "hidden_size", "64.5", Code::corrupt, "hidden_size is 64.5", "whole number");
  refused(llama(), "hidden_size", "-64", Code::corrupt, "hidden_size is -64", "whole number");
  refused(llama(), "hidden_size", "18446744073709551616", Code::corrupt, "hidden_size", "whole");
  refused(llama(), "vocab_size", "4294967295", Code::exhausted, "vocab_size", "at most");
  refused(llama(), "num_key_value_heads", "3", Code::corrupt, "num_key_value_heads is 3",
          "4 heads");
  refused(llama(), "head_dim", "15", Code::corrupt, "head_dim is 15", "even");
  refused(llama(), "rms_norm_eps", "0", Code::corrupt, "rms_norm_eps", "positive");
  refused(llama(), "hidden_act", "\"relu\"", Code::unsupported, "hidden_act is \"relu\"", "silu");
  refused(llama(), "model_type", "\"bloom\"", Code::unsupported, "\"bloom\"", "deepseek_v3");
  refused(llama(), "model_type", "", Code::corrupt, "model_type is missing", "llama");
  refused(llama(), "rope_scaling", "[]", Code::corrupt, "rope_scaling is an array", "object");
  refused(llama(), "rope_scaling", R"({"type": "linear"})", Code::corrupt, "factor is missing",
          "positive");
  refused(llama(), "partial_rotary_factor", "1.5", Code::corrupt, "partial_rotary_factor", "16");
}

TEST_CASE("experts, groups and latents that cannot be") {
  refused(experts(), "num_experts_per_tok", "9", Code::corrupt, "9 experts per token of 8", "8");
  refused(experts(), "n_group", "3", Code::corrupt, "8 experts in 3 groups", "whole groups");
  refused(experts(), "topk_group", "5", Code::corrupt, "of which 5 are kept", "no more kept");
  refused(experts(), "topk_group", "1", Code::corrupt, "1 groups of 2 experts for 3", "enough");
  refused(experts(), "topk_method", "\"best\"", Code::unsupported, "topk_method", "noaux_tc");
  refused(experts(), "qk_rope_head_dim", "7", Code::corrupt, "qk_rope_head_dim is 7", "even");
  refused(experts(), "kv_lora_rank", "1000000", Code::exhausted, "kv_lora_rank", "at most");
  refused(experts(), "routed_scaling_factor", "0", Code::corrupt, "routed_scaling_factor", "");
  refused(experts(), "mlp_layer_types", R"(["dense", "sparse", "wide"])", Code::corrupt, "\"wide\"",
          "dense or sparse");
  Keys sparse = experts();
  sparse["model_type"] = "\"deepseek_v32\"";
  refused(sparse, "index_topk", "40", Code::corrupt, "q_lora_rank is missing", "queries");
  sparse["q_lora_rank"] = "32";
  refused(sparse, "index_head_dim", "4", Code::corrupt, "index_head_dim is 4", "8 elements");
  refused(sparse, "indexer_types", R"(["shared", "full", "full"])", Code::corrupt, "layer 0",
          "selection of its own");
}
