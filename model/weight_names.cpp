#include "model/weight_names.hpp"

namespace troupe::model {
namespace {

/// The same for all families but for Family::gguf_parts.
constexpr PartName gguf_parts[] = {
    {Part::attention_norm, "attn_norm.weight"},
    {Part::query, "attn_q.weight"},
    {Part::key, "attn_k.weight"},
    {Part::value, "attn_v.weight"},
    {Part::query_key_value, "attn_qkv.weight"},
    {Part::attention_output, "attn_output.weight"},
    {Part::query_norm, "attn_q_norm.weight"},
    {Part::key_norm, "attn_k_norm.weight"},
    {Part::sinks, "attn_sinks.weight"},
    {Part::attention_post_norm, "post_attention_norm.weight"},
    {Part::query_down, "attn_q_a.weight"},
    {Part::query_down_norm, "attn_q_a_norm.weight"},
    {Part::query_up, "attn_q_b.weight"},
    {Part::latent_down, "attn_kv_a_mqa.weight"},
    {Part::latent_norm, "attn_kv_a_norm.weight"},
    {Part::latent_up, "attn_kv_b.weight"},
    {Part::ffn_norm, "ffn_norm.weight"},
    {Part::gate, "ffn_gate.weight"},
    {Part::up, "ffn_up.weight"},
    {Part::gate_up, "ffn_up.weight"},
    {Part::down, "ffn_down.weight"},
    {Part::router, "ffn_gate_inp.weight"},
    {Part::choice_bias, "exp_probs_b.bias"},
    {Part::expert_gate, "ffn_gate_exps.weight"},
    {Part::expert_up, "ffn_up_exps.weight"},
    {Part::expert_down, "ffn_down_exps.weight"},
    {Part::shared_gate, "ffn_gate_shexp.weight"},
    {Part::shared_up, "ffn_up_shexp.weight"},
    {Part::shared_down, "ffn_down_shexp.weight"},
    {Part::ffn_post_norm, "post_ffw_norm.weight"},
};

}  // namespace

WeightNames safetensors_names(const Family& family) {
  WeightNames names;
  names.embedding = "model.embed_tokens.weight";
  names.output_norm = "model.norm.weight";
  names.output = "lm_head.weight";
  names.layers = "model.layers.";
  for (const PartName& entry : family.parts) {
    names.parts[static_cast<size_t>(entry.part)] = entry.name;
  }
  return names;
}

WeightNames gguf_names(const Family& family) {
  WeightNames names;
  names.embedding = "token_embd.weight";
  names.output_norm = "output_norm.weight";
  names.output = "output.weight";
  names.layers = "blk.";
  if (family.latent) {
    names.key_up = "attn_k_b.weight";
    names.value_up = "attn_v_b.weight";
  }
  // Converters take experts that lie in one tensor apart into gate and up.
  const auto has = [&family](Part part) {
    if (part == Part::expert_gate || part == Part::expert_up) {
      return family.has(part) || family.has(Part::experts_gate_up);
    }
    if (part == Part::expert_down) return family.has(part) || family.has(Part::experts_down);
    // Gemma and others: a family of the dense kind has dense layers in its files.
    return family.has(part);
  };
  for (const PartName& entry : gguf_parts) {
    if (has(entry.part)) names.parts[static_cast<size_t>(entry.part)] = entry.name;
  }
  for (const PartName& entry : family.gguf_parts) {
    names.parts[static_cast<size_t>(entry.part)] = entry.name;
  }
  return names;
}

std::string bias_name(const std::string& weight) {
  constexpr std::string_view ending = ".weight";
  if (weight.ends_with(ending)) return weight.substr(0, weight.size() - ending.size()) + ".bias";
  return weight + "_bias";
}

}  // namespace troupe::model
