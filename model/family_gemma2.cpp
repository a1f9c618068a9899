// Gemma 2: norms around both parts with weights of (1 + w), gelu, soft caps, every other layer with
// a window, embeddings scaled by sqrt(hidden).
#include "model/family.hpp"

namespace troupe::model {

Family gemma2_family() {
  Family family;
  family.name = "gemma2";
  family.model_types = {"gemma2"};
  family.gguf = {"gemma2"};
  family.windows = Windows::alternate;
  family.norm_offset = 1.0f;
  family.scaled_embedding = true;
  family.activation = Activation::gelu_tanh;
  family.gguf_wide_scale_layers = 46;
  family.defaults = R"({"rms_norm_eps": 1e-6, "head_dim": 256, "tie_word_embeddings": true,
                        "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 4096,
                        "query_pre_attn_scalar": 256, "attn_logit_softcapping": 50.0,
                        "final_logit_softcapping": 30.0, "max_position_embeddings": 8192})";
  family.parts = llama_parts();
  family.set({
      {Part::attention_post_norm, "post_attention_layernorm.weight"},
      {Part::ffn_norm, "pre_feedforward_layernorm.weight"},
      {Part::ffn_post_norm, "post_feedforward_layernorm.weight"},
  });
  return family;
}

}  // namespace troupe::model
