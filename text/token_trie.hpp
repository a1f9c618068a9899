// Finds strings of a set at a place in a text: special tokens spelt out in prompts, and the pieces
// of a vocabulary.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace troupe::text {

class TokenTrie {
 public:
  TokenTrie();

  /// `text` must not be empty. The first token added for a text stays.
  void add(std::string_view text, int32_t id);

  struct Match {
    int32_t id = -1;  ///< -1: none
    size_t bytes = 0;
  };

  /// The longest string that starts at text[at].
  [[nodiscard]] Match longest_at(std::string_view text, size_t at) const;

  /// Calls visit(id, bytes) for every string that starts at text[at], shortest first.
  template <class Visit>
  void each_at(std::string_view text, size_t at, const Visit& visit) const {
    int32_t node = root_[static_cast<uint8_t>(text[at])];
    for (size_t end = at + 1; node >= 0; ++end) {
      if (const int32_t id = ids_[static_cast<size_t>(node)]; id >= 0) visit(id, end - at);
      if (end == text.size()) return;
      node = child(node, static_cast<uint8_t>(text[end]));
    }
  }

  /// The first place from `at` where a string may start; text.size(): none.
  [[nodiscard]] size_t next_start(std::string_view text, size_t at) const;

  [[nodiscard]] bool empty() const { return ids_.empty(); }

 private:
  struct Edge {
    uint64_t key = 0;  ///< (node + 1) << 8 | byte; 0: no edge
    int32_t next = -1;
  };
  [[nodiscard]] size_t slot_of(uint64_t key) const;
  [[nodiscard]] int32_t child(int32_t node, uint8_t byte) const;
  int32_t grow_child(int32_t node, uint8_t byte);
  int32_t new_node();

  std::array<int32_t, 256> root_;  ///< node of a first byte, -1: none; most places end here
  size_t num_starts_ = 0;          ///< first bytes
  char last_start_ = 0;            ///< the one that was added last
  std::vector<int32_t> ids_;       ///< by node, -1: no string ends here
  std::vector<Edge> edges_;        ///< open addressing, at most half full
  size_t edge_count_ = 0;
};

}  // namespace troupe::text
