// GLM-4.7-Flash: latent attention with GLM-4.5's experts.
#include "model/family.hpp"

namespace troupe::model {

Family glm4_moe_lite_family() {
  Family family = deepseek_v3_family();
  family.name = "glm4moelite";
  family.model_types = {"glm4_moe_lite"};
  family.gguf = {};
  family.defaults = R"({"rms_norm_eps": 1e-5, "first_k_dense_replace": 1, "n_group": 1,
                        "topk_group": 1, "norm_topk_prob": true, "routed_scaling_factor": 1.8,
                        "n_shared_experts": 1, "n_routed_experts": 64, "num_experts_per_tok": 4,
                        "moe_intermediate_size": 1536, "kv_lora_rank": 512, "q_lora_rank": 768,
                        "qk_rope_head_dim": 64, "qk_nope_head_dim": 192, "v_head_dim": 256})";
  return family;
}

}  // namespace troupe::model
