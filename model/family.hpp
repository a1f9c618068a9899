// What a model family is: a description that one reader of each file format and one forward pass
// interpret. A family is one file, model/family_*.cpp (docs/models.md tells how to add one).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.hpp"

namespace troupe::model {

/// The weights of a layer. A bias is looked for beside each matrix ("x.bias" for "x.weight").
enum class Part : uint8_t {
  attention_norm,
  query,
  key,
  value,
  query_key_value,  ///< the three in one, rows one after another
  attention_output,
  query_norm,
  key_norm,
  sinks,
  attention_post_norm,
  query_down,  ///< latent attention; with it query_up stands for query
  query_down_norm,
  query_up,
  latent_down,
  latent_norm,
  latent_up,
  index_query,
  index_key,
  index_key_norm,
  index_weights,
  ffn_norm,
  gate,
  up,
  gate_up,  ///< the two in one, rows one after another
  down,
  router,
  choice_bias,
  expert_gate,  ///< the name holds "{}" for the expert's number
  expert_up,
  expert_down,
  experts_gate_up,  ///< all experts: [expert][in][out], gate and up in turns
  experts_down,     ///< all experts: [expert][in][out]
  shared_gate,
  shared_up,
  shared_down,
  ffn_post_norm,
};
/// GGUF's number for a router that takes the sigmoid of its logits.
inline constexpr uint32_t gguf_gating_sigmoid = 2;

inline constexpr size_t num_parts = static_cast<size_t>(Part::ffn_post_norm) + 1;

/// Which layers see a window of the past, where config.json has no "layer_types".
enum class Windows : uint8_t {
  none,
  all,        ///< wherever the file names a window
  alternate,  ///< the first, third, ... layer
  pattern,    ///< all but each n-th, n being "sliding_window_pattern"
  upper       ///< from layer "max_window_layers" on, with "use_sliding_window"
};

struct PartName {
  Part part;
  std::string_view name;  ///< in safetensors, after "model.layers.N."; empty: there is none
};

struct Family {
  std::string_view name;
  std::vector<std::string_view> model_types;  ///< config.json "model_type"
  std::vector<std::string_view> gguf;         ///< GGUF "general.architecture"
  /// What is assumed where config.json is silent: an object of its keys.
  std::string_view defaults = "{}";

  RopePairing pairing = RopePairing::neox;       ///< of safetensors
  RopePairing gguf_pairing = RopePairing::neox;  ///< some converters permute rows
  Windows windows = Windows::none;
  bool local_rope = false;     ///< windowed layers rotate by "rope_local_base_freq"
  uint32_t nope_interval = 0;  ///< each n-th layer does not rotate where the file is silent
  QkNorm qk_norm = QkNorm::none;
  float norm_offset = 0.0f;                  ///< of safetensors; converters to GGUF add it
  bool scaled_embedding = false;             ///< by sqrt(hidden)
  Activation activation = Activation::silu;  ///< where the file names none
  std::optional<Routing> routing;            ///< has experts
  bool latent = false;                       ///< latent attention
  std::optional<RopePairing> indexer;        ///< has a sparse-attention indexer, its pairing
  uint32_t group_top = 1;                    ///< ExpertsConfig::group_top
  /// GGUF has no attention scale: with so many layers it is (hidden / heads)^-1/2.
  uint32_t gguf_wide_scale_layers = 0;
  bool gguf_yarn_truncates = true;  ///< RopeSpec::truncate, which GGUF does not have
  /// The family that shares the architecture's name in GGUF: files with experts, or with experts
  /// chosen by sigmoid where this family has experts itself.
  Family (*gguf_with_experts)() = nullptr;
  std::vector<PartName> parts;
  /// Where GGUF calls a part otherwise than it does in other families.
  std::vector<PartName> gguf_parts = {};

  /// Empty where the family has no such part.
  [[nodiscard]] std::string_view name_of(Part part) const;
  [[nodiscard]] bool has(Part part) const { return !name_of(part).empty(); }
  /// Sets names, replacing those that stand there.
  void set(const std::vector<PartName>& names);
};

/// Every family that this build knows.
const std::vector<Family>& families();
/// nullptr where no family has that "model_type", or that "general.architecture".
const Family* family_of_model_type(std::string_view model_type);
const Family* family_of_gguf(std::string_view architecture);
/// "llama, mistral, ...": for error messages.
std::string known_model_types();
std::string known_gguf_architectures();

/// The parts of a Llama layer: where a family begins.
std::vector<PartName> llama_parts();
/// In place of key and value: latent attention; and the weights of the indexer.
std::vector<PartName> latent_parts(bool indexer);
/// Experts as "mlp.experts.N.gate_proj", with a bias for the choice and a shared one if it has it.
std::vector<PartName> experts_parts(bool choice_bias, bool shared);

Family llama_family();
Family mistral_family();
Family mixtral_family();
Family qwen2_family();
Family qwen3_family();
Family qwen3_moe_family();
Family gemma2_family();
Family gemma3_family();
Family phi3_family();
Family olmo2_family();
Family glm4_family();
Family glm4_moe_family();
Family glm4_moe_lite_family();
Family glm_moe_dsa_family();
Family deepseek_v2_family();
Family deepseek_v3_family();
Family deepseek_v32_family();
Family gpt_oss_family();
Family smollm3_family();

}  // namespace troupe::model
