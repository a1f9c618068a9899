// Tokens to text while they arrive: only whole characters come out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "text/tokenizer.hpp"

namespace troupe::text {

/// Joined output of all push() and the flush() = replace_invalid_utf8(bytes of all tokens).
class Detokenizer {
 public:
  /// Without a tokenizer there is no text.
  explicit Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special = true);

  /// The characters that this token finishes. A broken byte becomes U+FFFD as soon as it is known
  /// to be broken. Ids outside of the vocabulary and, with skip_special, control tokens give
  /// nothing.
  std::string push(int32_t token);

  /// U+FFFD for a character that was begun and never finished. The detokenizer is then as new.
  std::string flush();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  bool skip_special_;
  std::string pending_;  ///< at most 3 bytes: the beginning of a character
};

}  // namespace troupe::text
