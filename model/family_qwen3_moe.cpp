// Qwen 3 with experts: softmax over all logits; some layers may be dense.
#include "model/family.hpp"

namespace troupe::model {

Family qwen3_moe_family() {
  Family family = qwen3_family();
  family.name = "qwen3moe";
  family.model_types = {"qwen3_moe"};
  family.gguf = {"qwen3moe"};
  family.routing = Routing::softmax;
  family.defaults = R"({"rms_norm_eps": 1e-6, "use_sliding_window": false, "head_dim": null,
                        "sliding_window": 4096, "max_window_layers": 0, "num_experts": 128,
                        "num_key_value_heads": 4, "num_experts_per_tok": 8,
                        "moe_intermediate_size": 768, "norm_topk_prob": false,
                        "decoder_sparse_step": 1})";
  family.set(experts_parts(false, false));
  return family;
}

}  // namespace troupe::model
