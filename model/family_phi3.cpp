// Phi 3 and 4: Llama with Q, K, V in one matrix and gate and up in another; longrope in files for
// long contexts, partial rotation in some.
#include "model/family.hpp"

namespace troupe::model {

Family phi3_family() {
  Family family;
  family.name = "phi3";
  family.model_types = {"phi3"};
  family.gguf = {"phi3"};
  family.windows = Windows::all;
  family.defaults = R"({"rms_norm_eps": 1e-5, "original_max_position_embeddings": 4096})";
  family.parts = llama_parts();
  family.set({
      {Part::query, ""},
      {Part::key, ""},
      {Part::value, ""},
      {Part::query_key_value, "self_attn.qkv_proj.weight"},
      {Part::gate, ""},
      {Part::up, ""},
      {Part::gate_up, "mlp.gate_up_proj.weight"},
  });
  return family;
}

}  // namespace troupe::model
