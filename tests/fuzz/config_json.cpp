// Any bytes as a config.json: an error that says what is wrong, or a configuration that holds
// together. The mutator writes configurations of every family with a key spoilt.
#include "model/config_json.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <random>
#include <string>

#include "model/rope.hpp"

using namespace troupe;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t size_max);

namespace {

const char* const counts[] = {"hidden_size",
                              "intermediate_size",
                              "num_hidden_layers",
                              "num_attention_heads",
                              "num_key_value_heads",
                              "head_dim",
                              "vocab_size",
                              "max_position_embeddings",
                              "sliding_window",
                              "max_window_layers",
                              "num_local_experts",
                              "num_experts_per_tok",
                              "moe_intermediate_size",
                              "n_shared_experts",
                              "n_routed_experts",
                              "n_group",
                              "topk_group",
                              "first_k_dense_replace",
                              "decoder_sparse_step",
                              "kv_lora_rank",
                              "q_lora_rank",
                              "qk_nope_head_dim",
                              "qk_rope_head_dim",
                              "v_head_dim",
                              "index_topk",
                              "index_head_dim",
                              "index_n_heads",
                              "index_topk_freq",
                              "original_max_position_embeddings",
                              "_sliding_window_pattern"};
const char* const reals[] = {"rms_norm_eps",
                             "rope_theta",
                             "query_pre_attn_scalar",
                             "attn_logit_softcapping",
                             "final_logit_softcapping",
                             "routed_scaling_factor",
                             "swiglu_limit",
                             "partial_rotary_factor",
                             "rope_local_base_freq"};
const char* const others[] = {
    R"("layer_types": ["full_attention", "sliding_attention"])",
    R"("layer_types": ["sliding_attention"])",
    R"("mlp_layer_types": ["dense", "sparse"])",
    R"("indexer_types": ["full", "shared"])",
    R"("index_topk_pattern": "FS")",
    R"("mlp_only_layers": [1])",
    R"("mlp_only_layers": [99])",
    R"("no_rope_layers": [0, 1])",
    R"("norm_topk_prob": true)",
    R"("topk_method": "greedy")",
    R"("use_sliding_window": true)",
    R"("rope_scaling": {"type": "linear", "factor": 4})",
    R"("rope_scaling": {"type": "dynamic", "factor": 2.5})",
    R"("rope_scaling": {"rope_type": "yarn", "factor": 4, "truncate": false, "beta_fast": 32})",
    R"("rope_scaling": {"rope_type": "yarn", "factor": 4, "mscale": 1, "mscale_all_dim": 1})",
    R"("rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
        "high_freq_factor": 4, "original_max_position_embeddings": 64})",
    R"("rope_scaling": {"type": "longrope", "short_factor": [1, 2], "long_factor": [3, 4]})",
    R"("rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8},
        "sliding_attention": {"rope_theta": 10000}})"};
const char* const numbers[] = {"0",     "1",   "2",   "3",     "4",          "7",      "8",
                               "16",    "24",  "32",  "64",    "512",        "-1",     "1e308",
                               "1e-9",  "1.5", "0.5", "1e400", "4294967295", "null",   "true",
                               "\"8\"", "[]",  "{}",  "1e15",  "16777216",   "100000", "1024"};

std::string random_config(std::minstd_rand& random) {
  const auto& families = model::families();
  const model::Family& family = families[random() % families.size()];
  std::string text = "{\"model_type\": \"" +
                     std::string(family.model_types[random() % family.model_types.size()]) + "\"";
  const char* const plain[] = {"64", "96", "2", "4", "2", "16", "100", "512"};
  for (size_t i = 0; i < std::size(counts); ++i) {
    // What every model has is there, mostly as it should be; the rest sometimes.
    const bool needed = i < std::size(plain);
    if (!needed && random() % 3 != 0) continue;
    const bool odd = random() % (needed ? 12 : 2) == 0;
    const char* value = odd || !needed ? numbers[random() % std::size(numbers)] : plain[i];
    text += ", \"" + std::string(counts[i]) + "\": " + value;
  }
  for (const char* key : reals) {
    if (random() % 4 == 0) {
      text += ", \"" + std::string(key) + "\": " + numbers[random() % std::size(numbers)];
    }
  }
  for (uint64_t i = random() % 3; i > 0; --i) {
    text += ", " + std::string(others[random() % std::size(others)]);
  }
  return text + "}";
}

void hold_together(model::ModelConfig c) {
  const auto require = [](bool truth) {
    if (!truth) std::abort();
  };
  require(c.num_heads > 0 && c.num_kv_heads > 0 && c.num_heads % c.num_kv_heads == 0);
  require(c.layers.size() == c.num_layers && c.num_layers > 0);
  for (const uint32_t context : {1u, 4096u, 16'777'216u}) {
    for (model::RopeConfig* rope : {&c.rope, &c.local_rope}) {
      model::resolve_rope(*rope, context);
      require(rope->dim % 2 == 0 && rope->dim <= c.head_dim);
      require(rope->inverse_frequency.size() * 2 == rope->dim);
      for (const double frequency : rope->inverse_frequency) require(frequency >= 0.0);
    }
  }
  for (const model::LayerConfig& layer : c.layers) {
    require(!layer.experts || c.experts.count > 0);
    require(layer.selection == model::Selection::none || c.indexer.heads > 0);
    require(!layer.local_rope || c.local_rope.dim > 0);
  }
  const model::ExpertsConfig& e = c.experts;
  require(e.count == 0 || (e.per_token > 0 && e.per_token <= e.count && e.ffn_size > 0));
  require(e.groups > 0 && e.groups_kept > 0 && e.groups_kept <= e.groups);
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t size_max,
                                          unsigned seed) {
  std::minstd_rand random(seed);
  if (random() % 4 == 0) return LLVMFuzzerMutate(data, size, size_max);
  const std::string text = random_config(random);
  if (text.size() > size_max) return LLVMFuzzerMutate(data, size, size_max);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto json = model::parse_json(text);
  if (!json.ok()) return 0;
  const auto check = [](const Error& error) {
    if (error.code == Code::internal || error.what.empty()) std::abort();
  };
  const auto family = model::family_of_config(*json);
  if (!family.ok()) {
    check(family.error());
    return 0;
  }
  const auto config = model::read_config(*json, **family);
  if (config.ok()) {
    hold_together(*config);
  } else {
    check(config.error());
  }
  return 0;
}
