#include "text/pre_tokenizer_gpt2.hpp"

#include <array>

#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace troupe::text {

namespace {

enum class Class : uint8_t { letter, number, space, other };

Class class_of(uint32_t code_point) {
  if (is_white_space(code_point)) return Class::space;
  const Category c = category(code_point);
  if (is_letter(c)) return Class::letter;
  return is_number(c) ? Class::number : Class::other;
}

/// End of the longest run of `wanted` from `at`.
size_t run_end(std::string_view text, size_t at, Class wanted) {
  while (at < text.size()) {
    const Utf8Step step = utf8_step(text, at);
    if (class_of(step.code_point) != wanted) break;
    at += step.bytes;
  }
  return at;
}

/// Length of the English contraction at `at`, 0 if there is none.
size_t contraction(std::string_view text, size_t at) {
  constexpr std::array<std::string_view, 7> all = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
  if (text[at] != '\'') return 0;
  for (const std::string_view one : all) {
    if (text.substr(at, one.size()) == one) return one.size();
  }
  return 0;
}

/// White space gives its last character to the word that follows, so that " word" stays whole.
size_t space_end(std::string_view text, size_t at) {
  const size_t end = run_end(text, at, Class::space);
  if (end == text.size()) return end;
  size_t last = end - 1;
  while (last > at && (static_cast<uint8_t>(text[last]) & 0xc0) == 0x80) --last;
  return last > at ? last : end;
}

size_t word_end(std::string_view text, size_t at) {
  if (const size_t length = contraction(text, at); length > 0) return at + length;
  const size_t start = text[at] == ' ' && at + 1 < text.size() ? at + 1 : at;
  const Class first = class_of(utf8_step(text, start).code_point);
  return first == Class::space ? space_end(text, at) : run_end(text, start, first);
}

void split_part(std::string_view text, size_t offset, std::vector<size_t>& ends) {
  for (size_t at = 0; at < text.size();) {
    at = word_end(text, at);
    ends.push_back(offset + at);
  }
}

}  // namespace

void split_gpt2(std::string_view text, std::vector<size_t>& ends) {
  split_part(text, 0, ends);
}

void split_digits_gpt2(std::string_view text, std::vector<size_t>& ends) {
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    if (class_of(step.code_point) == Class::number) {
      split_part(text.substr(begin, at - begin), begin, ends);
      begin = at + step.bytes;
      ends.push_back(begin);
    }
    at += step.bytes;
  }
  split_part(text.substr(begin), begin, ends);
}

}  // namespace troupe::text
