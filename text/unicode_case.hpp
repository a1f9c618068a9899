// Case and number properties of whole texts, as Python's str methods see them: one character may
// become several, and a sigma that ends a word is another letter.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace troupe::text {

/// The properties Lowercase, Uppercase; cased: one of them, or a title-case letter.
bool is_lowercase(uint32_t code_point);
bool is_uppercase(uint32_t code_point);
bool is_cased(uint32_t code_point);
/// str.isdigit and str.isnumeric of one character.
bool is_digit(uint32_t code_point);
bool is_numeric(uint32_t code_point);

// Of valid UTF-8.
std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string title(std::string_view text);  ///< str.title: words are runs of cased characters
std::string capitalize(std::string_view text);
std::string casefold(std::string_view text);
std::string swapcase(std::string_view text);

/// str.islower, isupper, istitle: false where no character is cased.
bool all_lower(std::string_view text);
bool all_upper(std::string_view text);
bool all_title(std::string_view text);

namespace unicode_data {

/// code point, number of characters, the characters: ascending.
std::span<const uint32_t> special_upper();
std::span<const uint32_t> special_title();
std::span<const uint32_t> special_lower();
std::span<const uint32_t> special_fold();

/// First and last of code points that differ from what their category says.
std::span<const uint32_t> odd_lowercase();
std::span<const uint32_t> odd_uppercase();
std::span<const uint32_t> odd_digits();
std::span<const uint32_t> odd_numbers();

}  // namespace unicode_data

}  // namespace troupe::text
