// GPT-2's words: a space belongs to the word after it.
#include "text/char_class.hpp"
#include "text/split_words.hpp"

namespace troupe::text {

namespace {

size_t gpt2_word_end(const ClassReader& text, size_t i) {
  using namespace char_class;
  const uint8_t byte = text.byte(i);
  if (byte == '\'') {
    if (const size_t length = contraction(text, i, false); length > 0) return i + length;
  }
  ClassedChar first = text.at(i);
  if (byte == ' ') {
    const ClassedChar next = text.at(i + 1);
    if (next.bytes == 0 || (next.bits & space) != 0) return space_end(text, i, false);
    ++i;
    first = next;
  } else if ((first.bits & space) != 0) {
    return space_end(text, i, false);
  }
  if ((first.bits & letter) != 0) return text.run(i, letter);
  if ((first.bits & number) != 0) return text.run(i, number);
  return text.run_without(i, letter | number | space);
}

}  // namespace

void split_gpt2(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  const ClassReader reader(text);
  for (size_t i = 0; i < text.size();) {
    const size_t end = gpt2_word_end(reader, i);
    add_piece(pieces, base, i, end);
    i = end;
  }
}

}  // namespace troupe::text
