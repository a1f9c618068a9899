// Qwen 3: Qwen 2 without biases, with RMSNorm of each head of Q and K before RoPE.
#include "model/family.hpp"

namespace troupe::model {

Family qwen3_family() {
  Family family = qwen2_family();
  family.name = "qwen3";
  family.model_types = {"qwen3"};
  family.gguf = {"qwen3"};
  family.qk_norm = QkNorm::per_head;
  family.defaults = R"({"rms_norm_eps": 1e-6, "use_sliding_window": false, "head_dim": 128,
                        "sliding_window": 4096, "max_window_layers": 28,
                        "num_key_value_heads": 32})";
  family.set({
      {Part::query_norm, "self_attn.q_norm.weight"},
      {Part::key_norm, "self_attn.k_norm.weight"},
  });
  return family;
}

}  // namespace troupe::model
