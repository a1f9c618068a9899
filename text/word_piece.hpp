// WordPiece: from the left, the longest piece of the vocabulary that fits.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/token_trie.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::text {

/// Immutable.
class WordPieceModel {
 public:
  WordPieceModel() = default;
  explicit WordPieceModel(const TokenizerSpec& spec);

  /// Appends the pieces of one word (valid UTF-8, not empty), or the unknown id where they do not
  /// cover it or it is too long.
  void append_word(std::string_view word, std::vector<int32_t>& ids) const;

 private:
  TokenTrie heads_;
  TokenTrie tails_;
  size_t characters_max_ = 0;
  int32_t unknown_id_ = -1;
};

}  // namespace troupe::text
