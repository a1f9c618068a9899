// GLM-4.5 and 4.6: experts by sigmoid with a bias for the choice, a shared expert, the first layers
// dense; halves of half a head rotated; RMSNorm of each head where the file asks for it.
#include "model/family.hpp"

namespace troupe::model {

Family glm4_moe_family() {
  Family family;
  family.name = "glm4moe";
  family.model_types = {"glm4_moe"};
  family.gguf = {"glm4moe"};
  family.qk_norm = QkNorm::per_head;
  family.routing = Routing::sigmoid;
  family.group_top = 2;
  family.defaults = R"({"rms_norm_eps": 1e-5, "partial_rotary_factor": 0.5, "use_qk_norm": false,
                        "num_key_value_heads": 8, "first_k_dense_replace": 1, "n_group": 1,
                        "topk_group": 1, "norm_topk_prob": true, "routed_scaling_factor": 1.0,
                        "n_shared_experts": 1, "n_routed_experts": 128,
                        "num_experts_per_tok": 8, "moe_intermediate_size": 1408})";
  family.parts = llama_parts();
  family.set(experts_parts(true, true));
  family.set({
      {Part::query_norm, "self_attn.q_norm.weight"},
      {Part::key_norm, "self_attn.k_norm.weight"},
  });
  family.gguf_parts = {{Part::ffn_norm, "post_attention_norm.weight"}};
  return family;
}

}  // namespace troupe::model
