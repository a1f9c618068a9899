#include "text/normal_steps.hpp"

#include <vector>

#include "text/char_class.hpp"
#include "text/unicode.hpp"
#include "text/unicode_normal.hpp"
#include "text/utf8.hpp"

namespace troupe::text {

namespace {

/// Calls visit(code point, the character) for each character of valid UTF-8.
template <class Visit>
void each_character(std::string_view text, const Visit& visit) {
  for (size_t i = 0; i < text.size();) {
    const DecodedChar c = decode_valid(reinterpret_cast<const uint8_t*>(text.data() + i));
    visit(c.code_point, text.substr(i, c.bytes));
    i += c.bytes;
  }
}

bool is_han(uint32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
         (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
         (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

bool is_bert_control(uint32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  const Category kind = category(c);
  return kind == Category::Cc || kind == Category::Cf || kind == Category::Co;
}

void append_lower(std::string& out, uint32_t c, std::string_view character) {
  // The one character whose lower case is two.
  if (c == 0x130) {
    out += "i\u0307";
  } else if (const uint32_t lower = to_lower(c); lower != c) {
    append_utf8(out, lower);
  } else {
    out += character;
  }
}

}  // namespace

std::string lowercase(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  each_character(text,
                 [&](uint32_t c, std::string_view character) { append_lower(out, c, character); });
  return out;
}

std::string without_accents(std::string_view text, bool spacing_too) {
  std::string out;
  out.reserve(text.size());
  each_character(text, [&](uint32_t c, std::string_view character) {
    const Category k = c < 0x80 ? Category::Cc : category(c);
    const bool gone = spacing_too ? is_mark(k) : k == Category::Mn;
    if (!gone) out += character;
  });
  return out;
}

std::string stripped(std::string_view text, bool left, bool right) {
  const ClassReader reader(text);
  if (left) text.remove_prefix(reader.run(0, char_class::space));
  while (right && !text.empty()) {
    size_t begin = text.size() - 1;
    while ((static_cast<uint8_t>(text[begin]) & 0xc0) == 0x80) --begin;
    if ((ClassReader(text).at(begin).bits & char_class::space) == 0) break;
    text.remove_suffix(text.size() - begin);
  }
  return std::string(text);
}

std::string bert_normal(const NormalStep& step, std::string_view text) {
  std::string out;
  out.reserve(text.size());
  each_character(text, [&](uint32_t c, std::string_view character) {
    if (step.clean_text) {
      if (c == 0 || c == replacement_character || is_bert_control(c)) return;
      if (is_white_space(c)) {
        out += ' ';
        return;
      }
    }
    if (step.isolate_han && is_han(c)) {
      out += ' ';
      out += character;
      out += ' ';
      return;
    }
    out += character;
  });
  if (step.strip_accents) {
    out = without_accents(is_normal(out, NormalForm::nfd) ? out : normalize(out, NormalForm::nfd),
                          false);
  }
  return step.lowercase ? lowercase(out) : out;
}

std::string nmt_normal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  each_character(text, [&](uint32_t c, std::string_view character) {
    const bool gone = (c >= 0x01 && c <= 0x08) || c == 0x0b || (c >= 0x0e && c <= 0x1f) ||
                      c == 0x7f || c == 0x8f || c == 0x9f;
    if (gone) return;
    const bool space = c == 0x09 || c == 0x0a || c == 0x0c || c == 0x0d || c == 0x1680 ||
                       (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                       c == 0xfeff || c == 0xfffd;
    out += space ? std::string_view(" ") : character;
  });
  return out;
}

std::string hugging_face_charsmap(const Charsmap& map, std::string_view text,
                                  RegexScratch& scratch) {
  static const Result<Regex> graphemes = Regex::make(R"(\X)");
  std::string out;
  out.reserve(text.size());
  const auto put_characters = [&](std::string_view part) {
    each_character(part, [&](uint32_t, std::string_view character) {
      const Charsmap::Found found = map.shortest(character);
      out += found.bytes > 0 ? found.replacement : character;
    });
  };
  std::vector<RegexMatch> clusters;
  if (!graphemes.ok() || !graphemes->find_all(text, scratch, clusters).ok()) {
    put_characters(text);
    return out;
  }
  for (const RegexMatch& cluster : clusters) {
    const std::string_view part = text.substr(cluster.begin, cluster.end - cluster.begin);
    constexpr size_t whole_bytes_max = 5;
    const Charsmap::Found found =
        part.size() <= whole_bytes_max ? map.shortest(part) : Charsmap::Found{};
    if (found.bytes > 0) {
      out += found.replacement;
    } else {
      put_characters(part);
    }
  }
  return out;
}

}  // namespace troupe::text
