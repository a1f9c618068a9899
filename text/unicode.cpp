#include "text/unicode.hpp"

#include <algorithm>
#include <vector>

namespace troupe::text {

namespace {

constexpr uint32_t code_points = 0x110000;

std::vector<Category> expand_categories() {
  std::vector<Category> table;
  table.reserve(code_points);
  for (const uint32_t run : unicode_data::category_runs()) {
    table.insert(table.end(), run >> 5, static_cast<Category>(run & 31));
  }
  table.resize(code_points);
  return table;
}

uint32_t map_case(uint32_t code_point, std::span<const unicode_data::CaseRange> ranges) {
  const auto after = std::upper_bound(
      ranges.begin(), ranges.end(), code_point,
      [](uint32_t value, const unicode_data::CaseRange& range) { return value < range.first; });
  if (after == ranges.begin()) return code_point;
  const unicode_data::CaseRange& range = *(after - 1);
  if (code_point > range.last || (code_point - range.first) % range.step != 0) return code_point;
  return static_cast<uint32_t>(static_cast<int32_t>(code_point) + range.delta);
}

}  // namespace

Category category(uint32_t code_point) {
  // Expanded once (1.1 MB): the split of a prompt asks for every character.
  static const std::vector<Category> table = expand_categories();
  return code_point < code_points ? table[code_point] : Category::Cn;
}

bool is_white_space(uint32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0d);
  return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
         c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool is_python_space(uint32_t c) {
  return is_white_space(c) || (c >= 0x1c && c <= 0x1f);
}

uint32_t to_upper(uint32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z' ? c - 32 : c;
  return map_case(c, unicode_data::upper_ranges());
}

uint32_t to_lower(uint32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  return map_case(c, unicode_data::lower_ranges());
}

}  // namespace troupe::text
