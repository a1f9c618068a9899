#include "text/token_trie.hpp"

#include <algorithm>
#include <utility>

namespace troupe::text {

namespace {

uint64_t key_of(int32_t node, uint8_t byte) {
  return (static_cast<uint64_t>(node) + 1) << 8 | byte;
}

}  // namespace

TokenTrie::TokenTrie() : edges_(16) {
  root_.fill(-1);
}

size_t TokenTrie::slot_of(uint64_t key) const {
  const size_t mask = edges_.size() - 1;
  size_t at = static_cast<size_t>((key * 0x9e3779b97f4a7c15u) >> 32) & mask;
  while (edges_[at].key != 0 && edges_[at].key != key) at = (at + 1) & mask;
  return at;
}

int32_t TokenTrie::child(int32_t node, uint8_t byte) const {
  return edges_[slot_of(key_of(node, byte))].next;
}

int32_t TokenTrie::new_node() {
  ids_.push_back(-1);
  return static_cast<int32_t>(ids_.size() - 1);
}

int32_t TokenTrie::grow_child(int32_t node, uint8_t byte) {
  const uint64_t key = key_of(node, byte);
  if (const size_t at = slot_of(key); edges_[at].key != 0) return edges_[at].next;
  if (++edge_count_ * 2 > edges_.size()) {
    std::vector<Edge> old(edges_.size() * 2);
    old.swap(edges_);
    for (const Edge& edge : old) {
      if (edge.key != 0) edges_[slot_of(edge.key)] = edge;
    }
  }
  const int32_t next = new_node();
  edges_[slot_of(key)] = {key, next};
  return next;
}

void TokenTrie::add(std::string_view text, int32_t id) {
  int32_t& first = root_[static_cast<uint8_t>(text[0])];
  if (first < 0) {
    first = new_node();
    num_starts_ += 1;
    last_start_ = text[0];
  }
  int32_t node = first;
  for (const char byte : text.substr(1)) node = grow_child(node, static_cast<uint8_t>(byte));
  int32_t& terminal = ids_[static_cast<size_t>(node)];
  if (terminal < 0) terminal = id;
}

size_t TokenTrie::next_start(std::string_view text, size_t at) const {
  // Special tokens of a model mostly begin with the same byte.
  if (num_starts_ == 1) return std::min(text.find(last_start_, at), text.size());
  while (at < text.size() && root_[static_cast<uint8_t>(text[at])] < 0) ++at;
  return at;
}

TokenTrie::Match TokenTrie::longest_at(std::string_view text, size_t at) const {
  Match best;
  each_at(text, at, [&](int32_t id, size_t bytes) { best = {id, bytes}; });
  return best;
}

}  // namespace troupe::text
