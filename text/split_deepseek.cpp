// The last step of DeepSeek V3's words. It does not cover every text: what no alternative matches
// is a piece of its own.
#include "text/char_class.hpp"
#include "text/split_words.hpp"

namespace troupe::text {

namespace {

using namespace char_class;

constexpr bool is_ascii_letter(uint8_t byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/// End of the word at i; i: none begins here.
size_t deepseek_word_end(const ClassReader& text, size_t i) {
  constexpr uint8_t sign = punctuation | symbol;
  const uint8_t byte = text.byte(i);
  const ClassedChar first = text.at(i);
  const size_t after = i + first.bytes;
  if (byte < 0x80 && (first.bits & sign) != 0 && is_ascii_letter(text.byte(after))) {
    size_t end = after + 1;
    while (is_ascii_letter(text.byte(end))) ++end;
    return end;
  }
  const ClassedChar next = text.at(after);
  if ((first.bits & (letter | sign)) == 0 && !is_line_break(byte) &&
      (next.bits & (letter | mark)) != 0) {
    return text.run(after + next.bytes, letter | mark);
  }
  if ((first.bits & (letter | mark)) != 0) return text.run(after, letter | mark);
  if ((first.bits & sign) != 0 || (byte == ' ' && (next.bits & sign) != 0)) {
    size_t end = text.run(after, sign);
    while (is_line_break(text.byte(end))) ++end;
    return end;
  }
  return (first.bits & space) != 0 ? space_end(text, i, true) : i;
}

}  // namespace

void split_deepseek3(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  const ClassReader reader(text);
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t end = deepseek_word_end(reader, i);
    if (end == i) {
      i += reader.at(i).bytes;
      continue;
    }
    add_piece(pieces, base, begin, i);
    add_piece(pieces, base, i, end);
    begin = i = end;
  }
  add_piece(pieces, base, begin, text.size());
}

}  // namespace troupe::text
