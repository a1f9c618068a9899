// Oniguruma's pattern syntax in PCRE2's: \s, \w and \h mean other sets there, PCRE2 has neither
// nested classes nor their intersection, and it takes \p{Han} for what is used with Han script too.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

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
/// Letters in circles and squares are letters to \w.
constexpr std::string_view words =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169})"
    R"(\x{1f170}-\x{1f189})";
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

/// Categories that Oniguruma also knows by their long names.
std::string_view short_category(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {{"letter", "L"},
                                                                     {"uppercaseletter", "Lu"},
                                                                     {"lowercaseletter", "Ll"},
                                                                     {"titlecaseletter", "Lt"},
                                                                     {"modifierletter", "Lm"},
                                                                     {"otherletter", "Lo"},
                                                                     {"mark", "M"},
                                                                     {"nonspacingmark", "Mn"},
                                                                     {"spacingmark", "Mc"},
                                                                     {"enclosingmark", "Me"},
                                                                     {"number", "N"},
                                                                     {"decimalnumber", "Nd"},
                                                                     {"letternumber", "Nl"},
                                                                     {"othernumber", "No"},
                                                                     {"punctuation", "P"},
                                                                     {"punct", "P"},
                                                                     {"connectorpunctuation", "Pc"},
                                                                     {"dashpunctuation", "Pd"},
                                                                     {"openpunctuation", "Ps"},
                                                                     {"closepunctuation", "Pe"},
                                                                     {"initialpunctuation", "Pi"},
                                                                     {"finalpunctuation", "Pf"},
                                                                     {"otherpunctuation", "Po"},
                                                                     {"symbol", "S"},
                                                                     {"mathsymbol", "Sm"},
                                                                     {"currencysymbol", "Sc"},
                                                                     {"modifiersymbol", "Sk"},
                                                                     {"othersymbol", "So"},
                                                                     {"separator", "Z"},
                                                                     {"spaceseparator", "Zs"},
                                                                     {"lineseparator", "Zl"},
                                                                     {"paragraphseparator", "Zp"},
                                                                     {"other", "C"},
                                                                     {"control", "Cc"},
                                                                     {"format", "Cf"},
                                                                     {"privateuse", "Co"},
                                                                     {"digit", "Nd"}};
  const auto found = std::ranges::find(names, name, [](const auto& pair) { return pair.first; });
  return found == std::end(names) ? std::string_view() : found->second;
}

/// PCRE2 itself knows which names are scripts.
bool is_script(const std::string& name) {
  const std::string pattern = "\\p{sc:" + name + "}";
  int code = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* made = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                   PCRE2_UTF, &code, &offset, nullptr);
  pcre2_code_free(made);
  return made != nullptr;
}

/// \p{Name} as PCRE2 must spell it to mean what it means to Oniguruma.
std::string property(char letter, std::string_view name) {
  bool negated = letter == 'P';
  if (name.starts_with('^')) {
    negated = !negated;
    name.remove_prefix(1);
  }
  constexpr size_t name_bytes_max = 64;
  std::string plain;
  for (const char c : name.substr(0, name_bytes_max)) {
    if (c != '_' && c != ' ' && c != '-')
      plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  }
  std::string meant(name);
  if (const std::string_view category = short_category(plain); !category.empty()) {
    meant = category;
  } else if (plain.size() > 2 &&
             std::ranges::all_of(
                 plain, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }) &&
             is_script(plain)) {
    meant = "sc:" + plain;
  }
  return (negated ? "\\P{" : "\\p{") + meant + "}";
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
    if (const size_t length = property_length(); length > 0) {
      out_ += property(letter, pattern_.substr(at_ + 3, length - 4));
      at_ += length;
      return;
    }
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
        const char letter = pattern_[at_ + 1];
        if (const size_t length = property_length(); length > 0) {
          body += property(letter, pattern_.substr(at_ + 3, length - 4));
          at_ += length;
          continue;
        }
        const std::string_view members = class_members(letter);
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

  /// Bytes of the \p{...} or \P{...} at pattern_[at_]; 0 if there is none.
  [[nodiscard]] size_t property_length() const {
    const std::string_view rest = pattern_.substr(at_);
    if (!rest.starts_with("\\p{") && !rest.starts_with("\\P{")) return 0;
    const size_t end = rest.find('}');
    return end == std::string_view::npos ? 0 : end + 1;
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
