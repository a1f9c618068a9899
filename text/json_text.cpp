#include "text/json_text.hpp"

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/sha256.hpp"
#include "text/utf8.hpp"

namespace troupe::text {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// True for bytes that JSON writes as they are, whatever stands beside them.
bool is_plain(char c) {
  return static_cast<uint8_t>(c) >= 0x20 && c != '"' && c != '\\';
}

/// The first byte from `at` that is not plain; 16 or eight at a time.
size_t end_of_plain(std::string_view text, size_t at) {
#ifdef __SSE2__
  const __m128i controls = _mm_set1_epi8(0x1F), quotes = _mm_set1_epi8('"');
  const __m128i backslashes = _mm_set1_epi8('\\');
  for (; at + sizeof(__m128i) <= text.size(); at += sizeof(__m128i)) {
    __m128i bytes;
    std::memcpy(&bytes, text.data() + at, sizeof bytes);
    const __m128i marks =
        _mm_or_si128(_mm_cmpeq_epi8(bytes, quotes), _mm_cmpeq_epi8(bytes, backslashes));
    const __m128i below_space = _mm_cmpeq_epi8(_mm_min_epu8(bytes, controls), bytes);
    const auto found = static_cast<uint32_t>(_mm_movemask_epi8(_mm_or_si128(marks, below_space)));
    if (found != 0) return at + static_cast<size_t>(std::countr_zero(found));
  }
#endif
  constexpr uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
  const auto has_zero = [](uint64_t word) { return (word - ones) & ~word & highs; };
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, sizeof word);
    const uint64_t below_space = (word - ones * 0x20) & ~word & highs;
    if ((below_space | has_zero(word ^ (ones * '"')) | has_zero(word ^ (ones * '\\'))) != 0) break;
  }
  while (at < text.size() && is_plain(text[at])) ++at;
  return at;
}

/// Reads \uXXXX behind the backslash; nothing: no four digits.
std::optional<uint32_t> read_unit(std::string_view text, size_t at) {
  if (at + 5 > text.size() || text[at] != 'u') return std::nullopt;
  uint32_t unit = 0;
  const char* first = text.data() + at + 1;
  const auto [end, failed] = std::from_chars(first, first + 4, unit, 16);
  if (failed != std::errc() || end != first + 4) return std::nullopt;
  return unit;
}

/// Reads the escape at text[at] = '\\'; at moves behind it. False: this is none.
bool read_escape(std::string_view text, size_t& at, std::string& out) {
  if (at + 1 >= text.size()) return false;
  constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
  if (const size_t i = letters.find(text[at + 1]); i != std::string_view::npos) {
    out += meanings[i];
    at += 2;
    return true;
  }
  auto unit = read_unit(text, at + 1);
  if (!unit) return false;
  at += 6;
  uint32_t code = *unit;
  if (code >= 0xD800 && code < 0xDC00) {
    const auto low = at < text.size() && text[at] == '\\' ? read_unit(text, at + 1) : std::nullopt;
    if (!low || *low < 0xDC00 || *low > 0xDFFF) return false;
    code = 0x10000 + ((code - 0xD800) << 10) + (*low - 0xDC00);
    at += 6;
  } else if (code >= 0xDC00 && code < 0xE000) {
    return false;
  }
  append_utf8(out, code);
  return true;
}

/// The string of JSON from behind its first quote to its last one. Nothing: it is none, and the
/// parser will say why.
std::optional<std::string> read_string(std::string_view text, size_t at, size_t last) {
  std::string out;
  out.reserve(last - at);
  for (;;) {
    const size_t end = end_of_plain(text, at);
    out.append(text, at, end - at);
    at = end;
    if (at == last) break;
    if (at == text.size() || text[at] != '\\' || !read_escape(text, at, out)) return std::nullopt;
  }
  if (first_invalid_utf8(out)) return std::nullopt;
  return out;
}

bool is_name(std::string_view text, size_t behind) {
  behind = text.find_first_not_of(" \t\r\n", behind);
  return behind != std::string_view::npos && text[behind] == ':';
}

/// What a string begins with that stands for one that was taken out, and how JSON spells it: it has
/// to be escaped there, so every string that begins with an escape is taken out too, and no other
/// can begin like this.
constexpr char mark = '\x01';
constexpr std::string_view spelled_mark = "\\u0001";

/// A text with its long strings taken out.
struct Lifted {
  std::string rest;
  std::vector<std::string> strings;
};

/// False: leave it to the parser, there is a mistake in it or nothing to gain.
bool lift(std::string_view text, size_t long_bytes, Lifted& lifted) {
  size_t copied = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '"') continue;
    const size_t begin = at + 1, end = end_of_string(text, begin);
    at = end;
    const bool is_taken = end - begin >= long_bytes || text.substr(begin, 1) == "\\";
    if (!is_taken || is_name(text, end + 1)) continue;
    auto string = read_string(text, begin, end);
    if (!string) return false;
    lifted.rest.append(text, copied, begin - copied);
    lifted.rest.append(spelled_mark).append(std::to_string(lifted.strings.size()));
    lifted.strings.push_back(std::move(*string));
    copied = end;
  }
  lifted.rest.append(text, copied);
  return !lifted.strings.empty();
}

void put_back(OrderedJson& json, std::vector<std::string>& strings) {
  std::vector<OrderedJson*> open = {&json};
  while (!open.empty()) {
    OrderedJson& value = *open.back();
    open.pop_back();
    if (value.is_structured()) {
      for (OrderedJson& inner : value) {
        if (inner.is_structured() || inner.is_string()) open.push_back(&inner);
      }
    } else if (value.is_string()) {
      auto& text = value.get_ref<std::string&>();
      if (text.starts_with(mark)) text = std::move(strings.at(std::stoul(text.substr(1))));
    }
  }
}

void append(std::string& out, const OrderedJson& json) {
  if (json.is_string()) {
    out += '"';
    append_escaped(out, json.get_ref<const std::string&>());
    out += '"';
  } else if (json.is_object()) {
    char before = '{';
    for (const auto& [name, value] : json.items()) {
      out += before;
      out += '"';
      append_escaped(out, name);
      out += "\":";
      append(out, value);
      before = ',';
    }
    out += json.empty() ? "{}" : "}";
  } else if (json.is_array()) {
    char before = '[';
    for (const OrderedJson& value : json) {
      out += before;
      append(out, value);
      before = ',';
    }
    out += json.empty() ? "[]" : "]";
  } else {
    out += json.dump();
  }
}

}  // namespace

OrderedJson parse_json(std::string_view text, size_t long_bytes) {
  Lifted lifted;
  if (text.size() < long_bytes || !lift(text, long_bytes, lifted)) return OrderedJson::parse(text);
  OrderedJson json = OrderedJson::parse(lifted.rest, nullptr, false);
  if (json.is_discarded()) return OrderedJson::parse(text);
  put_back(json, lifted.strings);
  return json;
}

std::string to_json(const OrderedJson& json) {
  std::string out;
  append(out, json);
  return out;
}

size_t end_of_string(std::string_view text, size_t at) {
  while ((at = end_of_plain(text, at)) < text.size() && text[at] != '"') {
    at += text[at] == '\\' ? 2 : 1;
  }
  return std::min(at, text.size());
}

void append_escaped(std::string& out, std::string_view text) {
  if (first_invalid_utf8(text)) {
    const std::string quoted =
        OrderedJson(std::string(text)).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
    out.append(quoted, 1, quoted.size() - 2);
    return;
  }
  constexpr std::string_view letters = "\"\\bfnrt", meanings = "\"\\\b\f\n\r\t";
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t end = end_of_plain(text, at);
    out.append(text, at, end - at);
    if (end == text.size()) return;
    at = end;
    out += '\\';
    if (const size_t i = meanings.find(text[at]); i != std::string_view::npos) {
      out += letters[i];
      continue;
    }
    const auto byte = static_cast<uint8_t>(text[at]);
    out += "u00" + hex({&byte, 1});
  }
}

}  // namespace troupe::text
