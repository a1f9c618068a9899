// DeepSeek V3 and R1: V2's attention; experts by sigmoid with a bias for the choice, among groups
// that are scored by their best two.
#include "model/family.hpp"

namespace troupe::model {

Family deepseek_v3_family() {
  Family family = deepseek_v2_family();
  family.name = "deepseek3";
  family.model_types = {"deepseek_v3"};
  // GGUF calls both "deepseek2" and tells them apart by expert_gating_func.
  family.gguf = {};
  family.gguf_with_experts = nullptr;
  family.routing = Routing::sigmoid;
  family.group_top = 2;
  family.defaults = R"({"rms_norm_eps": 1e-6, "first_k_dense_replace": 3, "n_group": 8,
                        "topk_group": 4, "norm_topk_prob": true, "routed_scaling_factor": 2.5,
                        "n_shared_experts": 1, "n_routed_experts": 256,
                        "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
                        "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64,
                        "qk_nope_head_dim": 128, "v_head_dim": 128, "rope_interleave": true})";
  family.set(experts_parts(true, true));
  return family;
}

}  // namespace troupe::model
