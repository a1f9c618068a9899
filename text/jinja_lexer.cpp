#include "text/jinja_lexer.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "text/jinja_error.hpp"
#include "text/utf8.hpp"

namespace troupe::text::jinja {

namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<uint8_t>(c) >= 0x80;
}
bool is_name(char c) {
  return is_name_start(c) || is_digit(c);
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) lex_text();
    add(TokenKind::end, {});
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] char peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool starts(std::string_view text) const {
    return source_.substr(at_, text.size()) == text;
  }
  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  void advance(size_t bytes) {
    const auto begin = source_.begin() + static_cast<ptrdiff_t>(at_);
    line_ += static_cast<int>(std::count(begin, begin + static_cast<ptrdiff_t>(bytes), '\n'));
    at_ += bytes;
  }
  [[noreturn]] void bad(std::string what) const {
    throw Failure{Code::invalid_argument, std::move(what), line_};
  }

  void lex_text();
  void lex_comment();
  bool lex_raw();
  void lex_tag(bool block);
  bool close_tag(bool block);
  void end_of_tag(std::string_view close, bool trims_newline);
  void lex_expression_token();
  void lex_string();
  void lex_number();
  bool lex_based_integer();
  void lex_symbol();
  uint32_t hex_escape(int digits);
  void lex_escape(std::string& out);

  std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  bool at_line_start_ = true;  ///< what was lexed last ended with a newline
  std::string brackets_;       ///< open ones of the tag
  std::vector<Token> tokens_;
};

/// Position of the next tag's "{" or the end.
size_t next_tag(std::string_view source, size_t from) {
  for (size_t at = source.find('{', from); at != std::string_view::npos;
       at = source.find('{', at + 1)) {
    const char next = at + 1 < source.size() ? source[at + 1] : '\0';
    if (next == '{' || next == '%' || next == '#') return at;
  }
  return source.size();
}

/// The text before a tag of this kind and sign: without the white space that the sign or
/// lstrip_blocks takes away.
std::string_view text_before(std::string_view text, char kind, char sign, bool at_line_start) {
  if (sign == '-') {
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  } else if (sign != '+' && kind != '{') {
    const size_t newline = text.rfind('\n');
    const size_t line_start = newline == std::string_view::npos ? 0 : newline + 1;
    const bool whole_line = newline != std::string_view::npos || at_line_start;
    const std::string_view before = text.substr(line_start);
    if (whole_line && std::all_of(before.begin(), before.end(), is_space)) {
      text = text.substr(0, line_start);
    }
  }
  return text;
}

void Lexer::lex_text() {
  const size_t tag = next_tag(source_, at_);
  std::string_view text = source_.substr(at_, tag - at_);
  if (tag < source_.size()) {
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    text = text_before(text, source_[tag + 1], sign, at_line_start_);
  }
  if (!text.empty()) add(TokenKind::data, std::string(text));
  advance(tag - at_);
  if (tag == source_.size()) return;
  if (source_[tag + 1] == '#') return lex_comment();
  if (source_[tag + 1] == '%' && lex_raw()) return;
  lex_tag(source_[tag + 1] == '%');
}

/// Consumes the tag's closing mark (which may carry a sign) and the white space that it swallows.
void Lexer::end_of_tag(std::string_view close, bool trims_newline) {
  const char sign = peek();
  if (sign == '-' || sign == '+') advance(1);
  advance(close.size());
  const size_t begin = at_;
  if (sign == '-') {
    size_t end = at_;
    while (end < source_.size() && is_space(source_[end])) ++end;
    advance(end - at_);
  } else if (sign != '+' && trims_newline && peek() == '\n') {
    advance(1);
  }
  at_line_start_ = at_ > begin && source_[at_ - 1] == '\n';
}

void Lexer::lex_comment() {
  const size_t end = source_.find("#}", at_ + 2);
  if (end == std::string_view::npos) bad("the comment that begins here is not closed with #}");
  const char before = source_[end - 1];
  const bool sign = end > at_ + 2 && (before == '-' || before == '+');
  advance((sign ? end - 1 : end) - at_);
  end_of_tag("#}", true);
}

/// Matches "{%", an optional sign, `word`, and stops before "%}" with one of `signs` or none; 0 if
/// it is not there.
size_t match_tag(std::string_view source, size_t at, std::string_view word,
                 std::string_view signs) {
  if (source.substr(at, 2) != "{%") return 0;
  size_t end = at + 2;
  if (end < source.size() && (source[end] == '-' || source[end] == '+')) ++end;
  while (end < source.size() && is_space(source[end])) ++end;
  if (source.substr(end, word.size()) != word) return 0;
  end += word.size();
  while (end < source.size() && is_space(source[end])) ++end;
  const size_t mark =
      end < source.size() && signs.find(source[end]) != std::string_view::npos ? end + 1 : end;
  return source.substr(mark, 2) == "%}" ? end : 0;
}

bool Lexer::lex_raw() {
  const size_t begin = match_tag(source_, at_, "raw", "-");
  if (begin == 0) return false;
  advance(begin - at_);
  end_of_tag("%}", false);
  for (size_t tag = source_.find("{%", at_); tag != std::string_view::npos;
       tag = source_.find("{%", tag + 2)) {
    const size_t end = match_tag(source_, tag, "endraw", "-+");
    if (end == 0) continue;
    const std::string_view text =
        text_before(source_.substr(at_, tag - at_), '%', source_[tag + 2], at_line_start_);
    add(TokenKind::data, std::string(text));
    advance(end - at_);
    end_of_tag("%}", true);
    return true;
  }
  bad("the raw block that begins here is not closed with {% endraw %}");
}

bool Lexer::close_tag(bool block) {
  const std::string_view close = block ? "%}" : "}}";
  const char sign = peek();
  const bool signed_close =
      (sign == '-' || (sign == '+' && block)) && source_.substr(at_ + 1, 2) == close;
  if (!brackets_.empty() || (!signed_close && !starts(close))) return false;
  add(block ? TokenKind::block_end : TokenKind::variable_end, {});
  end_of_tag(close, block);
  return true;
}

void Lexer::lex_tag(bool block) {
  add(block ? TokenKind::block_begin : TokenKind::variable_begin, {});
  advance(2);
  if (peek() == '-' || peek() == '+') advance(1);
  brackets_.clear();
  while (!close_tag(block)) {
    if (at_ >= source_.size()) bad(concat("the tag is not closed with ", block ? "%}" : "}}"));
    if (is_space(peek())) {
      advance(1);
    } else {
      lex_expression_token();
    }
  }
}

void Lexer::lex_expression_token() {
  const char c = peek();
  if (c == '"' || c == '\'') return lex_string();
  if (is_digit(c)) return lex_number();
  if (!is_name_start(c)) return lex_symbol();
  size_t end = at_;
  while (end < source_.size() && is_name(source_[end])) ++end;
  add(TokenKind::name, std::string(source_.substr(at_, end - at_)));
  advance(end - at_);
}

uint32_t Lexer::hex_escape(int digits) {
  uint32_t value = 0;
  for (int i = 0; i < digits; ++i) {
    const char c = peek();
    const int digit = is_digit(c)              ? c - '0'
                      : (c >= 'a' && c <= 'f') ? c - 'a' + 10
                      : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                               : -1;
    if (digit < 0) bad("an escape in a string needs more hexadecimal digits");
    value = value * 16 + static_cast<uint32_t>(digit);
    advance(1);
  }
  return value;
}

void Lexer::lex_escape(std::string& out) {
  constexpr std::string_view letters = "abfnrtv\\'\"";
  constexpr std::string_view meanings = "\a\b\f\n\r\t\v\\'\"";
  const char c = peek();
  advance(1);
  if (const size_t i = letters.find(c); i != std::string_view::npos) {
    out.push_back(meanings[i]);
  } else if (c == '\n') {
    return;
  } else if (c == 'x') {
    append_utf8(out, hex_escape(2));
  } else if (c == 'u') {
    append_utf8(out, hex_escape(4));
  } else if (c == 'U') {
    append_utf8(out, hex_escape(8));
  } else if (c >= '0' && c <= '7') {
    uint32_t value = static_cast<uint32_t>(c - '0');
    for (int more = 0; more < 2 && peek() >= '0' && peek() <= '7'; ++more, advance(1)) {
      value = value * 8 + static_cast<uint32_t>(peek() - '0');
    }
    append_utf8(out, value);
  } else {
    out.push_back('\\');
    out.push_back(c);
  }
}

void Lexer::lex_string() {
  const int first_line = line_;
  const char quote = peek();
  advance(1);
  std::string value;
  while (peek() != quote || at_ >= source_.size()) {
    if (at_ >= source_.size()) {
      line_ = first_line;
      bad("the string that begins here is not closed");
    }
    const char c = peek();
    advance(1);
    if (c == '\\' && at_ < source_.size()) {
      lex_escape(value);
    } else {
      value.push_back(c);
    }
  }
  advance(1);
  tokens_.push_back({TokenKind::string, std::move(value), first_line});
}

/// 0x1f, 0o17, 0b11, with single underscores between digits.
bool Lexer::lex_based_integer() {
  const char letter = static_cast<char>(peek(1) | 0x20);
  const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  if (peek() != '0' || base == 0) return false;
  std::string digits;
  size_t end = at_ + 2;
  while (end < source_.size() &&
         (std::isxdigit(static_cast<uint8_t>(source_[end])) != 0 || source_[end] == '_')) {
    if (source_[end] != '_') digits.push_back(source_[end]);
    ++end;
  }
  int64_t value = 0;
  const char* last = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), last, value, base);
  if (parsed.ec != std::errc() || parsed.ptr != last) {
    bad("an integer with a base needs digits of that base and at most 64 bits");
  }
  add(TokenKind::integer, std::to_string(value));
  advance(end - at_);
  return true;
}

void Lexer::lex_number() {
  if (lex_based_integer()) return;
  size_t end = at_;
  std::string digits;
  const auto take = [&] {
    while (end < source_.size() && (is_digit(source_[end]) || source_[end] == '_')) {
      if (source_[end] != '_') digits.push_back(source_[end]);
      ++end;
    }
  };
  const auto digit_at = [&](size_t i) { return i < source_.size() && is_digit(source_[i]); };
  take();
  bool real = false;
  if (end < source_.size() && source_[end] == '.' && digit_at(end + 1)) {
    real = true;
    digits.push_back('.');
    ++end;
    take();
  }
  if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
    const bool sign =
        end + 1 < source_.size() && (source_[end + 1] == '+' || source_[end + 1] == '-');
    if (digit_at(end + (sign ? 2 : 1))) {
      real = true;
      digits.push_back('e');
      if (sign) digits.push_back(source_[end + 1]);
      end += sign ? 2 : 1;
      take();
    }
  }
  add(real ? TokenKind::real : TokenKind::integer, std::move(digits));
  advance(end - at_);
}

void Lexer::lex_symbol() {
  constexpr std::array<std::string_view, 6> pairs = {"**", "//", "==", "!=", "<=", ">="};
  constexpr std::string_view singles = "+-*/%~()[]{}<>=.:,|;";
  std::string_view symbol = source_.substr(at_, 2);
  if (std::find(pairs.begin(), pairs.end(), symbol) == pairs.end()) {
    symbol = source_.substr(at_, 1);
    if (singles.find(symbol) == std::string_view::npos) {
      bad(concat("unexpected character '", source_.substr(at_, utf8_step(source_, at_).bytes),
                 "'"));
    }
  }
  const char c = symbol[0];
  if (c == '(' || c == '[' || c == '{') brackets_.push_back(c);
  if (c == ')' || c == ']' || c == '}') {
    const char open = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (brackets_.empty() || brackets_.back() != open) bad(concat("unexpected '", symbol, "'"));
    brackets_.pop_back();
  }
  add(TokenKind::symbol, std::string(symbol));
  advance(symbol.size());
}

std::string normal_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out.push_back(source[i]);
    } else if (i + 1 >= source.size() || source[i + 1] != '\n') {
      out.push_back('\n');
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

}  // namespace

std::vector<Token> lex(std::string_view source) {
  const std::string text = normal_newlines(source);
  return Lexer(text).run();
}

}  // namespace troupe::text::jinja
