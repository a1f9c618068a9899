#include "kv/layout.hpp"

namespace troupe::kv {

std::string KvLayout::describe() const {
  std::string text = "k[layer][head][dim][token]";
  text += value_in_key ? " v in k" : " v[layer][head][token][dim]";
  text += " layers " + std::to_string(num_layers);
  text += " kv_heads " + std::to_string(num_kv_heads);
  text += " head_dim " + std::to_string(head_dim);
  text += " tokens_per_block " + std::to_string(tokens_per_block);
  text += std::string(" type ") + name(type);
  if (index_layers > 0) {
    text += " index[layer][dim][token] layers " + std::to_string(index_layers);
    text += " dim " + std::to_string(index_dim);
  }
  return text;
}

}  // namespace troupe::kv
