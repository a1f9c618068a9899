// Values as text: str(), repr() and JSON.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "text/jinja_operations.hpp"
#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace troupe::text::jinja {

namespace {

void append_hex(std::string& out, uint32_t value, int digits) {
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) {
    out.push_back("0123456789abcdef"[(value >> shift) & 15]);
  }
}

bool prints(uint32_t code_point) {
  if (code_point < 0x7f) return code_point >= 0x20;
  const Category c = category(code_point);
  return c > Category::Cs && c != Category::Zl && c != Category::Zp && c != Category::Zs;
}

std::string quote_python(std::string_view text) {
  const bool single = text.find('\'') != std::string_view::npos;
  const bool twofold = text.find('"') != std::string_view::npos;
  const char quote = single && !twofold ? '"' : '\'';
  std::string out(1, quote);
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    const uint32_t c = step.code_point;
    if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\\')
      out += "\\\\";
    else if (c == static_cast<uint8_t>(quote))
      (out += '\\') += quote;
    else if (prints(c))
      out.append(text.substr(at, step.bytes));
    else if (c < 0x100)
      append_hex(out += "\\x", c, 2);
    else if (c < 0x10000)
      append_hex(out += "\\u", c, 4);
    else
      append_hex(out += "\\U", c, 8);
    at += step.bytes;
  }
  out.push_back(quote);
  return out;
}

void append_repr(Budget& budget, const Value& value, std::string& out);

void append_items(Budget& budget, const std::vector<Value>& items, std::string& out) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    append_repr(budget, items[i], out);
  }
}

/// By its items: a range that has none, or one with a larger step, may have been spelt otherwise.
void append_range(const std::vector<Value>& items, std::string& out) {
  const int64_t first = items.empty() ? 0 : items.front().as_integer();
  const int64_t step = items.size() < 2 ? 1 : items[1].as_integer() - first;
  const int64_t end = items.empty() ? 0 : items.back().as_integer() + step;
  out += concat("range(", first, ", ", end, step == 1 ? "" : concat(", ", step), ")");
}

void append_sequence(Budget& budget, const Sequence& sequence, std::string& out) {
  switch (sequence.flavour) {
    case Flavour::tuple:
    case Flavour::group:
      out += '(';
      append_items(budget, sequence.items, out);
      out += sequence.items.size() == 1 ? ",)" : ")";
      return;
    case Flavour::generator:
      out += "<generator object>";
      return;
    case Flavour::range:
      return append_range(sequence.items, out);
    case Flavour::list:
      out += '[';
      append_items(budget, sequence.items, out);
      out += ']';
      return;
    case Flavour::keys:
    case Flavour::values:
    case Flavour::items:
      out += sequence.flavour == Flavour::keys     ? "dict_keys(["
             : sequence.flavour == Flavour::values ? "dict_values(["
                                                   : "dict_items([";
      append_items(budget, sequence.items, out);
      out += "])";
      return;
  }
}

void append_dict(Budget& budget, const Dict& dict, std::string& out) {
  out += '{';
  for (size_t i = 0; i < dict.items.size(); ++i) {
    if (i > 0) out += ", ";
    append_repr(budget, dict.items[i].first, out);
    out += ": ";
    append_repr(budget, dict.items[i].second, out);
  }
  out += '}';
}

void append_repr(Budget& budget, const Value& value, std::string& out) {
  budget.work();
  switch (value.kind()) {
    case Kind::undefined:
      out += "Undefined";
      return;
    case Kind::none:
      out += "None";
      return;
    case Kind::boolean:
      out += value.as_boolean() ? "True" : "False";
      return;
    case Kind::integer:
      out += std::to_string(value.as_integer());
      return;
    case Kind::real:
      out += real_text(value.as_real());
      return;
    case Kind::string:
      budget.allocate(value.as_string().size());
      out += quote_python(value.as_string());
      return;
    case Kind::sequence:
      return append_sequence(budget, value.as_sequence(), out);
    case Kind::dict:
      return append_dict(budget, value.as_dict(), out);
    case Kind::loop:
      out += concat("<LoopContext ", value.as_loop().index + 1, "/", value.as_loop().items.size(),
                    ">");
      return;
    default:
      out += concat("<", value.type_name(), ">");
      return;
  }
}

std::string quote_json(std::string_view text, bool ascii) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    const uint32_t c = step.code_point;
    constexpr std::string_view special = "\"\\\b\f\n\r\t";
    constexpr std::string_view letters = "\"\\bfnrt";
    const size_t i = c < 0x80 ? special.find(static_cast<char>(c)) : std::string_view::npos;
    if (i != std::string_view::npos)
      (out += '\\') += letters[i];
    else if (c < 0x20 || (ascii && c >= 0x7f && c < 0x10000))
      append_hex(out += "\\u", c, 4);
    else if (ascii && c >= 0x10000) {
      append_hex(out += "\\u", 0xd800 + ((c - 0x10000) >> 10), 4);
      append_hex(out += "\\u", 0xdc00 + ((c - 0x10000) & 0x3ff), 4);
    } else {
      out.append(text.substr(at, step.bytes));
    }
    at += step.bytes;
  }
  return out += '"';
}

class JsonWriter {
 public:
  JsonWriter(Budget& budget, const JsonStyle& style) : budget_(budget), style_(style) {}

  void write(const Value& value, int level) {
    budget_.work();
    switch (value.kind()) {
      case Kind::none:
        out += "null";
        return;
      case Kind::boolean:
        out += value.as_boolean() ? "true" : "false";
        return;
      case Kind::integer:
        out += std::to_string(value.as_integer());
        return;
      case Kind::real:
        out += json_real(value.as_real());
        return;
      case Kind::string:
        budget_.allocate(value.as_string().size());
        out += quote_json(value.as_string(), style_.ascii);
        return;
      case Kind::sequence:
        if (value.as_sequence().flavour < Flavour::range) {
          return write_list(value.as_sequence().items, level);
        }
        break;
      case Kind::dict:
        return write_dict(value.as_dict(), level);
      default:
        break;
    }
    fail("a value of type ", value.type_name(), " cannot be written as JSON");
  }

  std::string out;

 private:
  static std::string json_real(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return real_text(value);
  }

  void new_line(int level) {
    if (style_.indent < 0 && style_.indent_text.empty()) return;
    out += '\n';
    for (int i = 0; i < level; ++i) {
      if (!style_.indent_text.empty())
        out += style_.indent_text;
      else
        out.append(static_cast<size_t>(style_.indent), ' ');
    }
    budget_.allocate(out.size() > 0 ? static_cast<size_t>(level) * 4 : 0);
  }

  void separate(bool first, int level) {
    if (!first) out += style_.item_separator;
    new_line(level);
  }

  void write_list(const std::vector<Value>& items, int level) {
    out += '[';
    for (size_t i = 0; i < items.size(); ++i) {
      separate(i == 0, level + 1);
      write(items[i], level + 1);
    }
    if (!items.empty()) new_line(level);
    out += ']';
  }

  std::string key_text(const Value& key) {
    if (key.is(Kind::string)) return key.as_string();
    if (key.is(Kind::none)) return "null";
    if (key.is(Kind::boolean)) return key.as_boolean() ? "true" : "false";
    if (key.is_number()) return to_text(budget_, key);
    fail("a key of type ", key.type_name(), " cannot be written as JSON");
  }

  void write_dict(const Dict& dict, int level) {
    std::vector<std::pair<std::string, const Value*>> items;
    for (const auto& [key, value] : dict.items) items.emplace_back(key_text(key), &value);
    budget_.work(items.size());
    if (style_.sort_keys) {
      std::stable_sort(items.begin(), items.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    out += '{';
    bool first = true;
    for (const auto& [key, value] : items) {
      separate(std::exchange(first, false), level + 1);
      budget_.allocate(key.size());
      out += quote_json(key, style_.ascii);
      out += style_.key_separator;
      write(*value, level + 1);
    }
    if (!items.empty()) new_line(level);
    out += '}';
  }

  Budget& budget_;
  const JsonStyle& style_;
};

}  // namespace

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer{};
  const double magnitude = std::fabs(value);
  const bool scientific = magnitude != 0.0 && (magnitude < 1e-4 || magnitude >= 1e16);
  const auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format).ptr;
  std::string text(buffer.data(), end);
  if (!scientific && text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string repr(Budget& budget, const Value& value) {
  std::string out;
  append_repr(budget, value, out);
  budget.allocate(out.size());
  return out;
}

std::string to_text(Budget& budget, const Value& value) {
  if (value.is(Kind::undefined)) return {};
  if (!value.is(Kind::string)) return repr(budget, value);
  budget.touch(value.as_string().size());
  return value.as_string();
}

std::string to_json(Budget& budget, const Value& value, const JsonStyle& style) {
  JsonWriter writer(budget, style);
  writer.write(value, 0);
  budget.allocate(writer.out.size());
  return std::move(writer.out);
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace troupe::text::jinja
