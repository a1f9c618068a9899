// Qwen 2 and 2.5: Llama with biases of Q, K and V; upper layers may see a window.
#include "model/family.hpp"

namespace troupe::model {

Family qwen2_family() {
  Family family = llama_family();
  family.gguf_with_experts = nullptr;
  family.name = "qwen2";
  family.model_types = {"qwen2"};
  family.gguf = {"qwen2"};
  family.gguf_pairing = RopePairing::neox;
  family.windows = Windows::upper;
  family.defaults = R"({"rms_norm_eps": 1e-6, "use_sliding_window": false,
                        "sliding_window": 4096, "max_window_layers": 28,
                        "num_key_value_heads": 32})";
  return family;
}

}  // namespace troupe::model
