// One value as Python's format specifications and % directives write it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/jinja_budget.hpp"
#include "text/jinja_value.hpp"

namespace troupe::text::jinja {

struct FormatSpec {
  std::string fill = " ";  ///< one character
  char align = '\0';       ///< <, >, ^, = or none
  char sign = '-';         ///< -, + or a space
  bool alternate = false;
  bool zeros = false;  ///< zeros between sign and digits
  int64_t width = 0;   ///< characters
  char grouping = '\0';
  int64_t precision = -1;  ///< -1: none
  char type = '\0';
};

/// The digits at text[at], 0 if there are none; capped above every width that is allowed.
int64_t read_format_number(std::string_view text, size_t& at);

/// format(value, spec).
std::string brace_text(Budget& budget, const Value& value, std::string_view spec);

/// A % directive whose parts are read.
std::string percent_text(Budget& budget, const Value& value, const FormatSpec& spec);

}  // namespace troupe::text::jinja
