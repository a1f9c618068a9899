// Mistral: Llama with a sliding window in all layers, where the file names one.
#include "model/family.hpp"

namespace troupe::model {

Family mistral_family() {
  Family family = llama_family();
  family.gguf_with_experts = nullptr;
  family.name = "mistral";
  family.model_types = {"mistral"};
  // In GGUF these are files of the architecture "llama".
  family.gguf = {};
  family.windows = Windows::all;
  family.defaults = R"({"rms_norm_eps": 1e-6, "sliding_window": 4096, "num_key_value_heads": 8})";
  return family;
}

}  // namespace troupe::model
