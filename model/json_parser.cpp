#include <algorithm>
#include <numeric>

#include "base/concat.hpp"
#include "model/json.hpp"
#include "model/limits.hpp"
#include "model/quoted.hpp"

namespace troupe::model {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

void append_utf8(std::string& out, uint32_t point) {
  const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xc0 | (point >> 6));
    put(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    put(0xe0 | (point >> 12));
    put(0x80 | ((point >> 6) & 0x3f));
    put(0x80 | (point & 0x3f));
  } else {
    put(0xf0 | (point >> 18));
    put(0x80 | ((point >> 12) & 0x3f));
    put(0x80 | ((point >> 6) & 0x3f));
    put(0x80 | (point & 0x3f));
  }
}

}  // namespace

/// Recursive descent; the depth is limited.
class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : text_(text) {}

  Result<Json> parse() {
    TROUPE_ASSIGN(Json root, value(0));
    skip_space();
    if (at_ != text_.size()) return bad("something follows the value", "one value is the whole");
    return root;
  }

 private:
  [[nodiscard]] Error bad(std::string_view what, std::string hint = {}) const {
    return error(Code::corrupt, concat("the JSON is damaged at byte ", at_, ": ", what),
                 std::move(hint));
  }

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
      ++at_;
    }
  }

  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Result<Json> value(int depth) {
    if (depth > limits::json_depth_max) {
      return error(Code::exhausted, concat("the JSON is nested too deeply at byte ", at_),
                   concat("at most ", limits::json_depth_max, " levels are read"));
    }
    if (++values_ > limits::json_values_max) {
      return error(Code::exhausted, "the JSON has too many values",
                   concat("at most ", limits::json_values_max, " are read"));
    }
    skip_space();
    Json made;
    switch (peek()) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"': {
        made.kind_ = Json::Kind::string;
        TROUPE_ASSIGN(made.text_, string());
        return made;
      }
      case 't':
      case 'f':
        made.kind_ = Json::Kind::boolean;
        made.true_ = peek() == 't';
        if (take("true") || take("false")) return made;
        return bad("a word that is none of true, false and null");
      case 'n':
        if (take("null")) return made;
        return bad("a word that is none of true, false and null");
      default:
        return number();
    }
  }

  /// What stands between two parts: true when another follows, false after `close`.
  Result<bool> more(char close, bool first) {
    skip_space();
    if (peek() == close && at_ < text_.size()) {
      ++at_;
      return false;
    }
    if (first) return true;
    if (!take(",")) return bad(concat("',' or '", close, "' is missing"));
    return true;
  }

  Result<Json> array(int depth) {
    Json made;
    made.kind_ = Json::Kind::array;
    ++at_;
    for (;;) {
      TROUPE_ASSIGN(const bool another, more(']', made.items_.empty()));
      if (!another) return made;
      TROUPE_ASSIGN(Json item, value(depth + 1));
      made.items_.push_back(std::move(item));
    }
  }

  Result<Json> object(int depth) {
    Json made;
    made.kind_ = Json::Kind::object;
    ++at_;
    for (;;) {
      TROUPE_ASSIGN(const bool another, more('}', made.items_.empty()));
      if (!another) break;
      skip_space();
      if (peek() != '"') return bad("a key is missing", "keys are strings");
      TROUPE_ASSIGN(std::string key, string());
      skip_space();
      if (!take(":")) return bad(concat("':' is missing after the key ", quoted(key)));
      TROUPE_ASSIGN(Json item, value(depth + 1));
      made.keys_.push_back(std::move(key));
      made.items_.push_back(std::move(item));
    }
    TROUPE_TRY(check_keys(made));
    return made;
  }

  [[nodiscard]] Status check_keys(const Json& object) const {
    std::vector<size_t> order(object.keys_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto key = [&](size_t i) -> const std::string& { return object.keys_[i]; };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
    const auto twice = std::adjacent_find(order.begin(), order.end(),
                                          [&](size_t a, size_t b) { return key(a) == key(b); });
    if (twice == order.end()) return {};
    return error(Code::corrupt,
                 concat("the key ", quoted(key(*twice)),
                        " occurs twice in the object that ends at byte ", at_),
                 "each key may stand in an object once");
  }

  Result<Json> number() {
    const size_t start = at_;
    (void)take("-");
    if (!is_digit(peek())) return bad("no value begins here");
    if (!take("0")) {
      while (is_digit(peek())) ++at_;
    }
    if (is_digit(peek())) return bad("a number begins with 0");
    if (take(".")) {
      if (!is_digit(peek())) return bad("a number has no digit after its point");
      while (is_digit(peek())) ++at_;
    }
    if (take("e") || take("E")) {
      (void)(take("+") || take("-"));
      if (!is_digit(peek())) return bad("a number has no digit in its exponent");
      while (is_digit(peek())) ++at_;
    }
    Json made;
    made.kind_ = Json::Kind::number;
    made.text_ = text_.substr(start, at_ - start);
    return made;
  }

  Result<std::string> string() {
    ++at_;
    std::string out;
    for (;;) {
      const size_t stop = text_.find_first_of("\"\\", at_);
      if (stop == std::string_view::npos) return bad("a string does not end");
      const std::string_view plain = text_.substr(at_, stop - at_);
      const auto control = std::find_if(
          plain.begin(), plain.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
      if (control != plain.end()) {
        at_ += static_cast<size_t>(control - plain.begin());
        return bad("a control character in a string", "it is written as \\u00XX");
      }
      out += plain;
      at_ = stop + 1;
      if (text_[stop] == '"') return out;
      TROUPE_TRY(escape(out));
    }
  }

  Status escape(std::string& out) {
    constexpr std::string_view letters = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    const char letter = peek();
    const size_t known = letters.find(letter);
    if (known != std::string_view::npos && at_ < text_.size()) {
      out += meanings[known];
      ++at_;
      return {};
    }
    if (!take("u")) return bad("an unknown escape in a string");
    TROUPE_ASSIGN(uint32_t point, four_digits());
    if (point >= 0xd800 && point < 0xdc00 && take("\\u")) {
      TROUPE_ASSIGN(const uint32_t low, four_digits());
      if (low < 0xdc00 || low > 0xdfff) return bad("half of a surrogate pair in a string");
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    } else if (point >= 0xd800 && point <= 0xdfff) {
      return bad("half of a surrogate pair in a string");
    }
    append_utf8(out, point);
    return {};
  }

  Result<uint32_t> four_digits() {
    uint32_t point = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      uint32_t digit = 0;
      if (is_digit(c)) {
        digit = static_cast<uint32_t>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        digit = static_cast<uint32_t>(c - 'a' + 10);
      } else if (c >= 'A' && c <= 'F') {
        digit = static_cast<uint32_t>(c - 'A' + 10);
      } else {
        return bad("an escape \\u without four hexadecimal digits");
      }
      point = point * 16 + digit;
    }
    return point;
  }

  std::string_view text_;
  size_t at_ = 0;
  uint64_t values_ = 0;
};

Result<Json> parse_json(std::string_view text) {
  return JsonParser(text).parse();
}

}  // namespace troupe::model
