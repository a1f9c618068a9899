// Mixtral: Mistral with experts; softmax over all logits, the best renormalised.
#include "model/family.hpp"

namespace troupe::model {

Family mixtral_family() {
  Family family = mistral_family();
  family.gguf_with_experts = nullptr;
  family.name = "mixtral";
  family.model_types = {"mixtral"};
  family.routing = Routing::softmax;
  family.defaults = R"({"rms_norm_eps": 1e-5, "num_key_value_heads": 8, "rope_theta": 1e6,
                        "num_local_experts": 8, "num_experts_per_tok": 2,
                        "norm_topk_prob": true})";
  family.set({
      {Part::gate, ""},
      {Part::up, ""},
      {Part::down, ""},
      {Part::router, "block_sparse_moe.gate.weight"},
      {Part::expert_gate, "block_sparse_moe.experts.{}.w1.weight"},
      {Part::expert_up, "block_sparse_moe.experts.{}.w3.weight"},
      {Part::expert_down, "block_sparse_moe.experts.{}.w2.weight"},
  });
  return family;
}

}  // namespace troupe::model
