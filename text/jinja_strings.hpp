// Python's string functions on UTF-8; shared by methods and filters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_budget.hpp"
#include "text/unicode_case.hpp"

namespace troupe::text::jinja {

/// Without the characters of `chars` (white space if empty) at the chosen ends.
std::string strip(std::string_view text, std::optional<std::string_view> chars, bool left,
                  bool right);

/// At most `most` cuts, -1: all. From the right, the cuts are the last ones.
std::vector<std::string> split(std::string_view text, std::string_view separator, int64_t most,
                               bool from_right);
std::vector<std::string> split_spaces(std::string_view text, int64_t most, bool from_right);
std::vector<std::string> split_lines(std::string_view text, bool keep_ends);

/// The first `most` occurrences replaced, -1: all.
std::string replace_text(Budget& budget, std::string_view text, std::string_view old_text,
                         std::string_view new_text, int64_t most);
int64_t count_text(std::string_view text, std::string_view needle);
size_t find_last(std::string_view text, std::string_view needle);

/// Filled to `width` characters: side -1 left-justified, 0 centred, 1 right-justified.
std::string pad(Budget& budget, std::string_view text, int64_t width, std::string_view fill,
                int side);

/// The filter title: words are cut at white space and at - ( { [ <, which is not str.title.
std::string title_words(std::string_view text);

}  // namespace troupe::text::jinja
