// Unicode normalisation forms.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace troupe::text {

enum class NormalForm : uint8_t { nfc, nfd, nfkc, nfkd };

/// True if `text` (valid UTF-8) is in the form as far as a look at each character tells; then
/// normalize() would return it unchanged. False may be wrong.
bool is_normal(std::string_view text, NormalForm form);

/// `text` (valid UTF-8) in the form. Linear but for long runs of combining marks, which are sorted.
std::string normalize(std::string_view text, NormalForm form);

namespace unicode_data {

/// code point, number of characters | 0x100 for a compatibility mapping, the characters (mapped
/// as far as they go); Hangul is computed.
std::span<const uint32_t> decompositions();
/// first code point, last code point << 8 | combining class.
std::span<const uint32_t> combining_classes();
/// first, second, composed.
std::span<const uint32_t> compositions();

}  // namespace unicode_data

}  // namespace troupe::text
