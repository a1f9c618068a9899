// DeepSeek V2: latent attention, experts by softmax without renormalisation, shared experts; the
// router of the large one chooses among groups by their best expert.
#include "model/family.hpp"

namespace troupe::model {

Family deepseek_v2_family() {
  Family family;
  family.name = "deepseek2";
  family.model_types = {"deepseek_v2"};
  family.gguf = {"deepseek2"};
  family.pairing = RopePairing::norm;
  family.gguf_pairing = RopePairing::norm;
  family.latent = true;
  family.gguf_with_experts = deepseek_v3_family;
  family.routing = Routing::softmax;
  family.defaults = R"({"rms_norm_eps": 1e-6, "first_k_dense_replace": 0, "n_group": 1,
                        "topk_group": 1, "topk_method": "greedy", "norm_topk_prob": false,
                        "routed_scaling_factor": 1.0, "n_shared_experts": 2,
                        "n_routed_experts": 64, "moe_intermediate_size": 1407,
                        "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64,
                        "qk_nope_head_dim": 128, "v_head_dim": 128})";
  family.parts = llama_parts();
  family.set(latent_parts(false));
  family.set(experts_parts(false, true));
  return family;
}

}  // namespace troupe::model
