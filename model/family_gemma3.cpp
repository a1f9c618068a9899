// Gemma 3 (text): Gemma 2 with RMSNorm of each head instead of soft caps; five local layers, which
// rotate by a base of their own, for each global one.
#include "model/family.hpp"

namespace troupe::model {

Family gemma3_family() {
  Family family = gemma2_family();
  family.name = "gemma3";
  family.model_types = {"gemma3_text"};
  family.gguf = {"gemma3"};
  family.windows = Windows::pattern;
  family.local_rope = true;
  family.qk_norm = QkNorm::per_head;
  family.gguf_wide_scale_layers = 62;
  family.defaults = R"({"rms_norm_eps": 1e-6, "head_dim": 256, "tie_word_embeddings": true,
                        "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 4096,
                        "sliding_window_pattern": 6, "query_pre_attn_scalar": 256,
                        "rope_theta": 1e6, "rope_local_base_freq": 1e4,
                        "max_position_embeddings": 131072})";
  family.set({
      {Part::query_norm, "self_attn.q_norm.weight"},
      {Part::key_norm, "self_attn.k_norm.weight"},
  });
  return family;
}

}  // namespace troupe::model
