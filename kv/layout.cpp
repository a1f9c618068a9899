#include "kv/layout.hpp"

namespace troupe::kv {

const char* name(KvType type) {
  switch (type) {
    case KvType::f32:
      return "f32";
    case KvType::f16:
      return "f16";
    case KvType::bf16:
      return "bf16";
    case KvType::q8_0:
      return "q8_0";
  }
  return "unknown";
}

size_t stored_bytes(KvType type, uint32_t dim, uint32_t tokens) {
  switch (type) {
    case KvType::f32:
      return size_t{4} * dim * tokens;
    case KvType::f16:
    case KvType::bf16:
      return size_t{2} * dim * tokens;
    case KvType::q8_0:
      return size_t{tokens} * (dim + size_t{2} * ((dim + scale_dims - 1) / scale_dims));
  }
  return 0;
}

std::string KvLayout::describe() const {
  std::string text = "k[layer][head][dim][token]";
  text += value_in_key ? " v in k" : " v[layer][head][token][dim]";
  text += " layers " + std::to_string(num_layers);
  text += " kv_heads " + std::to_string(num_kv_heads);
  text += " head_dim " + std::to_string(head_dim);
  text += " tokens_per_block " + std::to_string(tokens_per_block);
  text += std::string(" type ") + name(type);
  if (value_type.has_value() && *value_type != type) {
    text += std::string(" v type ") + name(*value_type);
  }
  if (index_layers > 0) {
    text += " index[layer][dim][token] layers " + std::to_string(index_layers);
    text += " dim " + std::to_string(index_dim);
  }
  for (uint32_t group = 0; group < windows.size(); ++group) {
    text += " group window " + std::to_string(windows[group]) + " layers";
    for (size_t layer = 0; layer < places.size(); ++layer) {
      if (places[layer].group == group) text += " " + std::to_string(layer);
    }
  }
  return text;
}

}  // namespace troupe::kv
