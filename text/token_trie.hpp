// Finds the longest of a set of strings at a place in a text: special tokens spelt out in prompts.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
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

 private:
  struct Node {
    int32_t id = -1;
    std::vector<std::pair<char, int32_t>> children;
  };
  [[nodiscard]] int32_t child(int32_t node, char byte) const;

  std::array<int32_t, 256> root_;  ///< node of a first byte, -1: none; most places end here
  std::vector<Node> nodes_;
};

}  // namespace troupe::text
