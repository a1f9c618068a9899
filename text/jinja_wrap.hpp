// Lines of a given width, as Python's textwrap fills them, and pprint.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_rendering.hpp"

namespace troupe::text::jinja {

struct WrapStyle {
  int64_t width = 79;  ///< characters
  bool breaks_long_words = true;
  bool breaks_at_hyphens = true;
};

/// \w of Python's patterns.
bool is_word_character(uint32_t code_point);

/// The lines that one line becomes; none for one of nothing but white space. Linear time.
std::vector<std::string> wrap_line(std::string_view line, const WrapStyle& style);

/// The filter pprint.
Value pretty_filter(Rendering& r, const Value& input, const Arguments& arguments);

}  // namespace troupe::text::jinja
