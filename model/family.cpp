#include "model/family.hpp"

#include <algorithm>

namespace troupe::model {
namespace {

const Family* find_family(std::string_view name, std::vector<std::string_view> Family::*spellings) {
  for (const Family& family : families()) {
    const auto& known = family.*spellings;
    if (std::find(known.begin(), known.end(), name) != known.end()) return &family;
  }
  return nullptr;
}

std::string join(std::vector<std::string_view> Family::*spellings) {
  std::vector<std::string_view> names;
  for (const Family& family : families()) {
    const auto& known = family.*spellings;
    names.insert(names.end(), known.begin(), known.end());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

}  // namespace

std::string_view Family::name_of(Part part) const {
  const auto found = std::find_if(parts.begin(), parts.end(),
                                  [part](const PartName& entry) { return entry.part == part; });
  return found == parts.end() ? std::string_view() : found->name;
}

void Family::set(const std::vector<PartName>& names) {
  for (const PartName& entry : names) {
    const auto found = std::find_if(parts.begin(), parts.end(), [&entry](const PartName& known) {
      return known.part == entry.part;
    });
    if (found == parts.end()) {
      parts.push_back(entry);
    } else {
      found->name = entry.name;
    }
  }
}

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      llama_family(),         mistral_family(),     mixtral_family(),     qwen2_family(),
      qwen3_family(),         qwen3_moe_family(),   gemma2_family(),      gemma3_family(),
      phi3_family(),          olmo2_family(),       glm4_family(),        glm4_moe_family(),
      glm4_moe_lite_family(), glm_moe_dsa_family(), deepseek_v2_family(), deepseek_v3_family(),
      deepseek_v32_family(),  gpt_oss_family(),     smollm3_family(),
  };
  return all;
}

const Family* family_of_model_type(std::string_view model_type) {
  return find_family(model_type, &Family::model_types);
}

const Family* family_of_gguf(std::string_view architecture) {
  return find_family(architecture, &Family::gguf);
}

std::string known_model_types() {
  return join(&Family::model_types);
}

std::string known_gguf_architectures() {
  return join(&Family::gguf);
}

std::vector<PartName> llama_parts() {
  return {
      {Part::attention_norm, "input_layernorm.weight"},
      {Part::query, "self_attn.q_proj.weight"},
      {Part::key, "self_attn.k_proj.weight"},
      {Part::value, "self_attn.v_proj.weight"},
      {Part::attention_output, "self_attn.o_proj.weight"},
      {Part::ffn_norm, "post_attention_layernorm.weight"},
      {Part::gate, "mlp.gate_proj.weight"},
      {Part::up, "mlp.up_proj.weight"},
      {Part::down, "mlp.down_proj.weight"},
  };
}

std::vector<PartName> latent_parts(bool indexer) {
  std::vector<PartName> parts = {
      {Part::key, ""},
      {Part::value, ""},
      {Part::query_up, "self_attn.q_b_proj.weight"},
      {Part::query_down, "self_attn.q_a_proj.weight"},
      {Part::query_down_norm, "self_attn.q_a_layernorm.weight"},
      {Part::latent_down, "self_attn.kv_a_proj_with_mqa.weight"},
      {Part::latent_norm, "self_attn.kv_a_layernorm.weight"},
      {Part::latent_up, "self_attn.kv_b_proj.weight"},
  };
  if (!indexer) return parts;
  parts.push_back({Part::index_query, "self_attn.indexer.wq_b.weight"});
  parts.push_back({Part::index_key, "self_attn.indexer.wk.weight"});
  parts.push_back({Part::index_key_norm, "self_attn.indexer.k_norm.weight"});
  parts.push_back({Part::index_weights, "self_attn.indexer.weights_proj.weight"});
  return parts;
}

std::vector<PartName> experts_parts(bool choice_bias, bool shared) {
  std::vector<PartName> parts = {
      {Part::router, "mlp.gate.weight"},
      {Part::expert_gate, "mlp.experts.{}.gate_proj.weight"},
      {Part::expert_up, "mlp.experts.{}.up_proj.weight"},
      {Part::expert_down, "mlp.experts.{}.down_proj.weight"},
  };
  if (choice_bias) parts.push_back({Part::choice_bias, "mlp.gate.e_score_correction_bias"});
  if (!shared) return parts;
  parts.push_back({Part::shared_gate, "mlp.shared_experts.gate_proj.weight"});
  parts.push_back({Part::shared_up, "mlp.shared_experts.up_proj.weight"});
  parts.push_back({Part::shared_down, "mlp.shared_experts.down_proj.weight"});
  return parts;
}

}  // namespace troupe::model
