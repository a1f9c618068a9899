// GPT-OSS: attention sinks, every other layer with a window, biases everywhere, a clamped swiglu;
// the best experts' logits pass through a softmax of their own.
#include "model/family.hpp"

namespace troupe::model {

Family gpt_oss_family() {
  Family family;
  family.name = "gpt-oss";
  family.model_types = {"gpt_oss"};
  family.gguf = {"gpt-oss"};
  family.gguf_yarn_truncates = false;
  family.windows = Windows::alternate;
  family.activation = Activation::clamped_swiglu;
  family.routing = Routing::chosen_softmax;
  family.defaults = R"({"rms_norm_eps": 1e-5, "head_dim": 64, "num_key_value_heads": 8,
                        "rope_theta": 150000.0, "sliding_window": 128, "num_local_experts": 128,
                        "num_experts_per_tok": 4, "swiglu_limit": 7.0, "swiglu_alpha": 1.702})";
  family.parts = llama_parts();
  family.set({
      {Part::gate, ""},
      {Part::up, ""},
      {Part::down, ""},
      {Part::sinks, "self_attn.sinks"},
      {Part::router, "mlp.router.weight"},
      {Part::experts_gate_up, "mlp.experts.gate_up_proj"},
      {Part::experts_down, "mlp.experts.down_proj"},
  });
  family.gguf_parts = {{Part::ffn_norm, "post_attention_norm.weight"}};
  return family;
}

}  // namespace troupe::model
