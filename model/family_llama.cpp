// Llama 2, 3 and what is built alike (SmolLM 1 and 2, Yi, ...). RMSNorm before each part, no norm
// of heads; biases only where a file has them.
#include "model/family.hpp"

namespace troupe::model {

Family llama_family() {
  Family family;
  family.name = "llama";
  family.model_types = {"llama"};
  family.gguf = {"llama"};
  // llama.cpp's converter permutes the rows of Q and K so that pairs are neighbours.
  family.gguf_pairing = RopePairing::norm;
  family.gguf_with_experts = mixtral_family;
  family.defaults = R"({"rms_norm_eps": 1e-6})";
  family.parts = llama_parts();
  return family;
}

}  // namespace troupe::model
