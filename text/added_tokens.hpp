// Tokens that are found in text before it is cut into words: special and user-defined ones, with
// the flags that Hugging Face gives them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>

#include "text/token_trie.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::text {

/// Bytes [begin, end) of a text.
struct ByteRange {
  size_t begin = 0;
  size_t end = 0;
  bool operator==(const ByteRange&) const = default;
};

/// A set of added tokens that are looked for in the same text. Immutable once filled.
class AddedTokens {
 public:
  /// Content that is empty or no valid UTF-8 is never found: it could cut a character in half.
  void add(std::string_view content, const AddedToken& token, bool control);

  struct Found {
    int32_t id = -1;   ///< -1: no more
    size_t begin = 0;  ///< with the white space that it takes
    size_t end = 0;
    size_t next = 0;  ///< where to look on
  };
  /// The next token from `at` on. `taken`: text before it belongs to the token before. With
  /// `control`, control tokens too, but none that overlaps a range of `plain`, from which ranges
  /// that were passed are dropped.
  [[nodiscard]] Found find(std::string_view text, size_t at, size_t taken, bool control,
                           std::span<const ByteRange>& plain) const;

  [[nodiscard]] bool empty() const { return all_.empty(); }

 private:
  [[nodiscard]] TokenTrie::Match match_at(std::string_view text, size_t at, bool control,
                                          std::span<const ByteRange> plain) const;

  TokenTrie user_defined_;
  TokenTrie all_;
  std::unordered_map<int32_t, AddedToken> flags_;  ///< of tokens that have some
};

}  // namespace troupe::text
