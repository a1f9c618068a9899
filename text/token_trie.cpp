#include "text/token_trie.hpp"

namespace troupe::text {

TokenTrie::TokenTrie() {
  root_.fill(-1);
}

int32_t TokenTrie::child(int32_t node, char byte) const {
  for (const auto& [label, next] : nodes_[static_cast<size_t>(node)].children) {
    if (label == byte) return next;
  }
  return -1;
}

void TokenTrie::add(std::string_view text, int32_t id) {
  const auto grow = [&] {
    nodes_.emplace_back();
    return static_cast<int32_t>(nodes_.size() - 1);
  };
  int32_t& first = root_[static_cast<uint8_t>(text[0])];
  if (first < 0) first = grow();
  int32_t node = first;
  for (const char byte : text.substr(1)) {
    int32_t next = child(node, byte);
    if (next < 0) {
      next = grow();
      nodes_[static_cast<size_t>(node)].children.emplace_back(byte, next);
    }
    node = next;
  }
  int32_t& terminal = nodes_[static_cast<size_t>(node)].id;
  if (terminal < 0) terminal = id;
}

TokenTrie::Match TokenTrie::longest_at(std::string_view text, size_t at) const {
  Match best;
  int32_t node = root_[static_cast<uint8_t>(text[at])];
  for (size_t end = at + 1; node >= 0; ++end) {
    const int32_t id = nodes_[static_cast<size_t>(node)].id;
    if (id >= 0) best = {id, end - at};
    if (end == text.size()) break;
    node = child(node, text[end]);
  }
  return best;
}

}  // namespace troupe::text
