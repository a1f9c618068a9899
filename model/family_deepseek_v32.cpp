// DeepSeek V3.2: V3 with an indexer that selects the positions which a query sees. MLA rotates
// neighbours, the indexer halves.
#include "model/family.hpp"

namespace troupe::model {

Family deepseek_v32_family() {
  Family family = deepseek_v3_family();
  family.name = "deepseek32";
  family.model_types = {"deepseek_v32"};
  family.gguf = {};
  family.indexer = RopePairing::neox;
  family.defaults = R"({"rms_norm_eps": 1e-6, "first_k_dense_replace": 3, "n_group": 8,
                        "topk_group": 4, "norm_topk_prob": true, "routed_scaling_factor": 2.5,
                        "n_shared_experts": 1, "n_routed_experts": 256,
                        "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
                        "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64,
                        "qk_nope_head_dim": 128, "v_head_dim": 128,
                        "index_topk": 2048, "index_head_dim": 128, "index_n_heads": 64})";
  family.set(latent_parts(true));
  return family;
}

}  // namespace troupe::model
