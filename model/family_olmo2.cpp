// OLMo 2: norms after each part only, RMSNorm of Q and K over all heads together.
#include "model/family.hpp"

namespace troupe::model {

Family olmo2_family() {
  Family family;
  family.name = "olmo2";
  family.model_types = {"olmo2"};
  family.gguf = {"olmo2"};
  family.qk_norm = QkNorm::whole;
  family.defaults = R"({"rms_norm_eps": 1e-5})";
  family.parts = llama_parts();
  family.set({
      {Part::attention_norm, ""},
      {Part::query_norm, "self_attn.q_norm.weight"},
      {Part::key_norm, "self_attn.k_norm.weight"},
      {Part::attention_post_norm, "post_attention_layernorm.weight"},
      {Part::ffn_norm, ""},
      {Part::ffn_post_norm, "post_feedforward_layernorm.weight"},
  });
  return family;
}

}  // namespace troupe::model
