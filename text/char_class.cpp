#include "text/char_class.hpp"

#include <algorithm>

#include "text/unicode.hpp"

namespace troupe::text {

namespace {

uint8_t classify(uint32_t code_point) {
  const Category c = category(code_point);
  uint8_t bits = is_white_space(code_point) ? char_class::space : 0;
  if (c == Category::Lu || c == Category::Lt) bits |= char_class::upper;
  if (c == Category::Ll) bits |= char_class::lower;
  if (c == Category::Lm || c == Category::Lo) bits |= char_class::caseless;
  if (is_mark(c)) bits |= char_class::mark;
  if (is_number(c)) bits |= char_class::number;
  if (is_punctuation(c)) bits |= char_class::punctuation;
  if (is_symbol(c)) bits |= char_class::symbol;
  return bits;
}

}  // namespace

ClassTable::ClassTable() {
  std::array<uint8_t, 256> page;
  for (uint32_t number = 0; number < page_.size(); ++number) {
    for (uint32_t i = 0; i < 256; ++i) page[i] = classify(number * 256 + i);
    size_t found = 0;
    while (found * 256 < bits_.size() &&
           !std::equal(page.begin(), page.end(), bits_.begin() + static_cast<long>(found * 256))) {
      ++found;
    }
    if (found * 256 == bits_.size()) bits_.insert(bits_.end(), page.begin(), page.end());
    page_[number] = static_cast<uint16_t>(found);
  }
}

const ClassTable& ClassTable::get() {
  static const ClassTable table;
  return table;
}

ClassedChar ClassReader::beyond_ascii(size_t i) const {
  const DecodedChar c = decode_valid(text_ + i);
  return {table_.of(c.code_point), c.bytes};
}

}  // namespace troupe::text
