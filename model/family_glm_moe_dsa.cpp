// GLM-5: DeepSeek V3.2's latent and sparse attention; the indexer rotates neighbours, and a layer
// may reuse the selection of the layer before it.
#include "model/family.hpp"

namespace troupe::model {

Family glm_moe_dsa_family() {
  Family family = deepseek_v32_family();
  family.name = "glm-dsa";
  family.model_types = {"glm_moe_dsa"};
  family.gguf = {};
  family.indexer = RopePairing::norm;
  family.defaults = R"({"rms_norm_eps": 1e-5, "first_k_dense_replace": 3, "n_group": 1,
                        "topk_group": 1, "norm_topk_prob": true, "routed_scaling_factor": 2.5,
                        "n_shared_experts": 1, "n_routed_experts": 256, "num_experts_per_tok": 8,
                        "moe_intermediate_size": 2048, "kv_lora_rank": 512, "q_lora_rank": 2048,
                        "qk_rope_head_dim": 64, "qk_nope_head_dim": 192, "v_head_dim": 256,
                        "index_topk": 2048, "index_head_dim": 128, "index_n_heads": 32})";
  return family;
}

}  // namespace troupe::model
