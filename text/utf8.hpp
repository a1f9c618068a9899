// UTF-8: stepping through it, finding what is broken, repairing it as Python's 'replace' does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace troupe::text {

inline constexpr uint32_t replacement_character = 0xfffd;

/// One step through UTF-8. Where it is broken, `bytes` is the length of the maximal prefix of a
/// character (at least 1) and `code_point` is U+FFFD.
struct Utf8Step {
  uint32_t code_point = replacement_character;
  uint32_t bytes = 1;
  bool valid = false;
  bool cut = false;  ///< broken only because the text ends inside a character
};

/// The step at text[at]; at < text.size().
Utf8Step utf8_step(std::string_view text, size_t at);

/// Offset of the first byte that is not part of a valid character.
std::optional<size_t> first_invalid_utf8(std::string_view text);

/// Success, or invalid_argument naming the offset and the byte. `what` names the text in the
/// message, e.g. "the prompt".
Status check_utf8(std::string_view text, std::string_view what);

/// The text with every maximal broken part replaced by one U+FFFD.
std::string replace_invalid_utf8(std::string_view text);

/// Bytes at the end (0 to 3) that are the beginning of a character which is not finished.
size_t unfinished_utf8_tail(std::string_view text);

/// Appends one code point; surrogates and values above U+10FFFF become U+FFFD.
void append_utf8(std::string& out, uint32_t code_point);

/// Number of code points of valid UTF-8 (a broken part counts as one).
size_t utf8_length(std::string_view text);

}  // namespace troupe::text
