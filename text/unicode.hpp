// Properties of code points that pre-tokenizers and templates ask for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace troupe::text {

/// General categories, in the order of scripts/generate-unicode.
enum class Category : uint8_t {
  Cn,
  Cc,
  Cf,
  Co,
  Cs,
  Ll,
  Lm,
  Lo,
  Lt,
  Lu,
  Mc,
  Me,
  Mn,
  Nd,
  Nl,
  No,
  Pc,
  Pd,
  Pe,
  Pf,
  Pi,
  Po,
  Ps,
  Sc,
  Sk,
  Sm,
  So,
  Zl,
  Zp,
  Zs
};

/// O(1); code points above U+10FFFF are unassigned (Cn).
Category category(uint32_t code_point);

inline bool is_letter(Category c) {
  return c >= Category::Ll && c <= Category::Lu;
}
inline bool is_mark(Category c) {
  return c >= Category::Mc && c <= Category::Mn;
}
inline bool is_number(Category c) {
  return c >= Category::Nd && c <= Category::No;
}
inline bool is_punctuation(Category c) {
  return c >= Category::Pc && c <= Category::Ps;
}
inline bool is_symbol(Category c) {
  return c >= Category::Sc && c <= Category::So;
}

/// The property White_Space: what \s means in the tokenizers' patterns.
bool is_white_space(uint32_t code_point);

/// What Python's str.isspace and str.strip take as space: White_Space and U+001C to U+001F.
bool is_python_space(uint32_t code_point);

/// One code point's mapping to one code point; itself where there is none.
uint32_t to_upper(uint32_t code_point);
uint32_t to_lower(uint32_t code_point);

namespace unicode_data {

struct CaseRange {
  uint32_t first;
  uint32_t last;
  uint32_t step;  ///< 1: every code point of the range, 2: every other
  int32_t delta;
};

/// (number of code points << 5) | category, from U+0000 on.
std::span<const uint32_t> category_runs();
std::span<const CaseRange> upper_ranges();
std::span<const CaseRange> lower_ranges();

}  // namespace unicode_data

}  // namespace troupe::text
