// GLM-4 (0414): norms around both parts, neighbours of half a head rotated, gate and up in one.
#include "model/family.hpp"

namespace troupe::model {

Family glm4_family() {
  Family family;
  family.name = "glm4";
  family.model_types = {"glm4"};
  family.gguf = {"glm4"};
  family.pairing = RopePairing::norm;
  family.gguf_pairing = RopePairing::norm;
  family.defaults = R"({"rms_norm_eps": 1.5625e-7, "head_dim": 128, "partial_rotary_factor": 0.5,
                        "num_key_value_heads": 2})";
  family.parts = llama_parts();
  family.set({
      {Part::attention_post_norm, "post_self_attn_layernorm.weight"},
      {Part::gate, ""},
      {Part::up, ""},
      {Part::gate_up, "mlp.gate_up_proj.weight"},
      {Part::ffn_post_norm, "post_mlp_layernorm.weight"},
  });
  return family;
}

}  // namespace troupe::model
