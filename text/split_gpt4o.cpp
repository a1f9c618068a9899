// The words of GPT-4o and Tekken: also cut where capitals begin inside of a word.
#include "text/char_class.hpp"
#include "text/split_words.hpp"

namespace troupe::text {

namespace {

using namespace char_class;

constexpr uint8_t heads = upper | caseless | mark;
constexpr uint8_t tails = lower | caseless | mark;

/// End of heads*tails+ from i; i where there is none. `capitals`: the end of heads* (for
/// heads+tails*, which only matches where no tail follows).
size_t cased_end(const ClassReader& text, size_t i, size_t& capitals) {
  size_t end = i;
  size_t after_tail = i;  // behind the last of the heads that can be a tail as well
  ClassedChar c = text.at(end);
  while ((c.bits & heads) != 0) {
    end += c.bytes;
    if ((c.bits & tails) != 0) after_tail = end;
    c = text.at(end);
  }
  capitals = end;
  if ((c.bits & tails) != 0) return text.run(end + c.bytes, tails);
  return after_tail;
}

/// End of a word from i with at most one character before its letters; i: no word begins here.
size_t letters_end(const ClassReader& text, size_t i, ClassedChar first) {
  const bool may_lead =
      (first.bits & (letter | number)) == 0 && text.byte(i) != '\n' && text.byte(i) != '\r';
  const size_t led = i + first.bytes;
  size_t capitals = led;
  size_t capitals_alone = i;
  if (may_lead) {
    if (const size_t end = cased_end(text, led, capitals); end > led) return end;
  }
  if ((first.bits & (letter | mark)) != 0) {
    if (const size_t end = cased_end(text, i, capitals_alone); end > i) return end;
  }
  if (may_lead && capitals > led) return capitals;
  return capitals_alone;
}

template <bool contractions, size_t digits_max>
size_t gpt4o_word_end(const ClassReader& text, size_t i) {
  const ClassedChar first = text.at(i);
  if (const size_t end = letters_end(text, i, first); end > i) {
    return contractions && text.byte(end) == '\'' ? end + contraction(text, end, true) : end;
  }
  if ((first.bits & number) != 0) {
    size_t end = i + first.bytes;
    for (size_t count = 1; count < digits_max; ++count) {
      const ClassedChar c = text.at(end);
      if ((c.bits & number) == 0) break;
      end += c.bytes;
    }
    return end;
  }
  constexpr uint8_t not_sign = letter | number | space;
  const ClassedChar next = text.at(i + first.bytes);
  const bool spaced = text.byte(i) == ' ' && next.bytes != 0 && (next.bits & not_sign) == 0;
  if ((first.bits & space) != 0 && !spaced) return space_end(text, i, true);
  size_t end = text.run_without(i + first.bytes, not_sign);
  while (text.byte(end) == '\n' || text.byte(end) == '\r' || text.byte(end) == '/') ++end;
  return end;
}

template <bool contractions, size_t digits_max>
void split(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  const ClassReader reader(text);
  for (size_t i = 0; i < text.size();) {
    const size_t end = gpt4o_word_end<contractions, digits_max>(reader, i);
    add_piece(pieces, base, i, end);
    i = end;
  }
}

}  // namespace

void split_gpt4o(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  split<true, 3>(text, base, pieces);
}

void split_tekken(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  split<false, 1>(text, base, pieces);
}

}  // namespace troupe::text
