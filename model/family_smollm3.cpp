// SmolLM3: Llama whose every fourth layer does not rotate.
#include "model/family.hpp"

namespace troupe::model {

Family smollm3_family() {
  Family family = llama_family();
  family.gguf_with_experts = nullptr;
  family.name = "smollm3";
  family.model_types = {"smollm3"};
  family.gguf = {"smollm3"};
  family.nope_interval = 4;
  family.windows = Windows::upper;
  family.defaults = R"({"rms_norm_eps": 1e-6, "num_key_value_heads": 4, "rope_theta": 2e6,
                        "use_sliding_window": false, "max_window_layers": 0,
                        "tie_word_embeddings": true, "no_rope_layer_interval": 4})";
  return family;
}

}  // namespace troupe::model
