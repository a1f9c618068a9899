// The words of Llama 3 and Qwen: any one character that is not a line break belongs to the letters
// after it; numbers are cut into groups.
#include "text/char_class.hpp"
#include "text/split_words.hpp"

namespace troupe::text {

namespace {

using namespace char_class;

struct Rules {
  size_t digits_max;
  uint8_t word;  ///< what words are made of
};

template <Rules rules>
size_t llama3_word_end(const ClassReader& text, size_t i) {
  const uint8_t byte = text.byte(i);
  if (byte == '\'') {
    if (const size_t length = contraction(text, i, true); length > 0) return i + length;
  }
  const ClassedChar first = text.at(i);
  if ((first.bits & letter) != 0) return text.run(i + first.bytes, rules.word);
  if ((first.bits & number) != 0) {
    size_t end = i + first.bytes;
    for (size_t count = 1; count < rules.digits_max; ++count) {
      const ClassedChar c = text.at(end);
      if ((c.bits & number) == 0) break;
      end += c.bytes;
    }
    return end;
  }
  const size_t after = i + first.bytes;
  const ClassedChar next = text.at(after);
  if (byte != '\n' && byte != '\r' && (next.bits & rules.word) != 0) {
    return text.run(after + next.bytes, rules.word);
  }
  constexpr uint8_t not_sign = rules.word | number | space;
  if ((first.bits & rules.word) != 0) return after;  // a mark alone
  const bool spaced = byte == ' ' && next.bytes != 0 && (next.bits & not_sign) == 0;
  if ((first.bits & space) != 0 && !spaced) return space_end(text, i, true);
  size_t end = text.run_without(after, not_sign);
  while (text.byte(end) == '\n' || text.byte(end) == '\r') ++end;
  return end;
}

template <Rules rules>
void split(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  const ClassReader reader(text);
  for (size_t i = 0; i < text.size();) {
    const size_t end = llama3_word_end<rules>(reader, i);
    add_piece(pieces, base, i, end);
    i = end;
  }
}

}  // namespace

void split_llama3(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  split<Rules{3, letter}>(text, base, pieces);
}

void split_qwen2(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  split<Rules{1, letter}>(text, base, pieces);
}

void split_qwen35(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  split<Rules{1, letter | mark}>(text, base, pieces);
}

}  // namespace troupe::text
