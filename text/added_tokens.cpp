#include "text/added_tokens.hpp"

#include <algorithm>

#include "text/char_class.hpp"
#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace troupe::text {

namespace {

size_t character_before(std::string_view text, size_t at) {
  --at;
  while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80) --at;
  return at;
}

/// \w of Rust's patterns: letters, marks, decimal digits, letter numbers, connectors, joiners, and
/// the symbols that are letters in circles and squares.
bool is_word_character(std::string_view text, size_t at) {
  const uint32_t c = decode_valid(reinterpret_cast<const uint8_t*>(text.data() + at)).code_point;
  const Category k = category(c);
  const bool enclosed = (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
                        (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
  return is_letter(k) || is_mark(k) || k == Category::Nd || k == Category::Nl ||
         k == Category::Pc || c == 0x200c || c == 0x200d || enclosed;
}

bool stands_alone(std::string_view text, size_t begin, size_t end) {
  if (begin > 0 && is_word_character(text, character_before(text, begin))) return false;
  return end == text.size() || !is_word_character(text, end);
}

size_t without_space_before(std::string_view text, size_t at, size_t taken) {
  const ClassReader reader(text);
  while (at > taken) {
    const size_t before = character_before(text, at);
    if ((reader.at(before).bits & char_class::space) == 0) break;
    at = before;
  }
  return at;
}

}  // namespace

void AddedTokens::add(std::string_view content, const AddedToken& token, bool control) {
  if (content.empty() || first_invalid_utf8(content)) return;
  all_.add(content, token.id);
  if (!control) user_defined_.add(content, token.id);
  if (token.single_word || token.lstrip || token.rstrip) flags_.emplace(token.id, token);
}

TokenTrie::Match AddedTokens::match_at(std::string_view text, size_t at, bool control,
                                       std::span<const ByteRange> plain) const {
  if (!control) return user_defined_.longest_at(text, at);
  if (plain.empty()) return all_.longest_at(text, at);
  const TokenTrie::Match user_defined = user_defined_.longest_at(text, at);
  if (at >= plain.front().begin) return user_defined;
  // A shorter control token that ends before the range is still one.
  const TokenTrie::Match before = all_.longest_at(text.substr(0, plain.front().begin), at);
  return before.bytes > user_defined.bytes ? before : user_defined;
}

AddedTokens::Found AddedTokens::find(std::string_view text, size_t at, size_t taken, bool control,
                                     std::span<const ByteRange>& plain) const {
  const TokenTrie& trie = control ? all_ : user_defined_;
  for (at = trie.next_start(text, at); at < text.size(); at = trie.next_start(text, at)) {
    while (!plain.empty() && plain.front().end <= at) plain = plain.subspan(1);
    const TokenTrie::Match match = match_at(text, at, control, plain);
    if (match.id < 0) {
      ++at;
      continue;
    }
    Found found{match.id, at, at + match.bytes, at + match.bytes};
    const auto flags = flags_.find(match.id);
    if (flags == flags_.end()) return found;
    if (flags->second.single_word && !stands_alone(text, found.begin, found.end)) {
      at = found.end;
      continue;
    }
    if (flags->second.lstrip) found.begin = without_space_before(text, found.begin, taken);
    if (flags->second.rstrip) found.end = ClassReader(text).run(found.end, char_class::space);
    return found;
  }
  return {};
}

}  // namespace troupe::text
