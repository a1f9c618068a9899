// Oniguruma's pattern syntax in PCRE2's: \s, \w and \h mean other sets there, and PCRE2 has neither
// nested classes nor their intersection.
#include "text/regex.hpp"

namespace troupe::text {

namespace {

constexpr std::string_view spaces =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f})"
    R"(\x{205f}\x{3000})";
constexpr std::string_view not_spaces =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff})"
    R"(\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{d7ff})"
    R"(\x{e000}-\x{10ffff})";
constexpr std::string_view words = R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc})";
constexpr std::string_view not_words = R"(\p{P}\p{S}\p{Z}\p{C}\p{No})";
constexpr std::string_view hex_digits = "0-9A-Fa-f";

/// What stands inside of a class for \s and the like; empty: the escape means the same.
std::string_view class_members(char escape) {
  switch (escape) {
    case 's':
      return spaces;
    case 'S':
      return not_spaces;
    case 'w':
      return words;
    case 'W':
      // A connector is punctuation but belongs to words; patterns that care spell it out.
      return not_words;
    case 'h':
      return hex_digits;
    default:
      return {};
  }
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      if (pattern_[at_] == '[') {
        out_ += char_class();
      } else if (pattern_[at_] == '\\' && at_ + 1 < pattern_.size()) {
        escape();
      } else {
        out_ += pattern_[at_++];
      }
    }
    return std::move(out_);
  }

 private:
  void escape() {
    const char letter = pattern_[at_ + 1];
    at_ += 2;
    if (const std::string_view members = class_members(letter); !members.empty()) {
      const bool negated = letter == 'S' || letter == 'W';
      const std::string_view positive = letter == 'S' ? spaces : letter == 'W' ? words : members;
      out_ += negated ? "[^" : "[";
      out_ += positive;
      out_ += ']';
      return;
    }
    out_ += '\\';
    out_ += letter;
  }

  /// The class at pattern_[at_] == '['; a class with an intersection becomes a look-ahead and a
  /// class.
  std::string char_class() {
    ++at_;
    std::string body = "[";
    if (peek() == '^') {
      body += '^';
      ++at_;
    }
    bool first = true;
    std::string conditions;
    while (at_ < pattern_.size() && (peek() != ']' || first)) {
      first = false;
      if (peek() == '\\' && at_ + 1 < pattern_.size()) {
        const std::string_view members = class_members(pattern_[at_ + 1]);
        body += members.empty() ? pattern_.substr(at_, 2) : members;
        at_ += 2;
      } else if (pattern_.substr(at_, 2) == "[:") {
        const size_t end = pattern_.find(":]", at_);
        const size_t length = end == std::string_view::npos ? 2 : end + 2 - at_;
        body += pattern_.substr(at_, length);
        at_ += length;
      } else if (pattern_.substr(at_, 3) == "&&[") {
        at_ += 2;
        conditions += condition(char_class());
      } else if (peek() == '[' && depth_ < depth_max) {
        ++depth_;
        body += inner(char_class());
        --depth_;
      } else {
        body += pattern_[at_++];
      }
    }
    if (at_ < pattern_.size()) ++at_;
    body += ']';
    return conditions.empty() ? body : "(?:" + conditions + body + ")";
  }

  [[nodiscard]] char peek() const { return at_ < pattern_.size() ? pattern_[at_] : '\0'; }

  static std::string condition(const std::string& set) {
    if (set.starts_with("[^")) return "(?![" + set.substr(2) + ")";
    return "(?=" + set + ")";
  }
  /// Members of a nested class: a union. A negated one cannot be flattened and is left as it is.
  static std::string inner(const std::string& set) {
    if (!set.starts_with("[") || set.starts_with("[^") || set.size() < 2) return set;
    return set.substr(1, set.size() - 2);
  }

  static constexpr int depth_max = 8;
  std::string_view pattern_;
  size_t at_ = 0;
  int depth_ = 0;
  std::string out_;
};

}  // namespace

std::string translate_pattern(std::string_view pattern) {
  return Translator(pattern).run();
}

}  // namespace troupe::text
