// Filters that make or unmake HTML and URLs.
#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

#include "text/jinja_operations.hpp"
#include "text/jinja_rendering.hpp"
#include "text/jinja_strings.hpp"
#include "text/utf8.hpp"

namespace troupe::text::jinja {

namespace {

Value marked(Rendering& r, std::string text) {
  r.budget().allocate(text.size());
  return Value::string(std::move(text), true);
}

Value safe(Rendering& r, const Value& input, const Arguments&) {
  return Value::string(to_text(r.budget(), input), true);
}

Value force_escape(Rendering& r, const Value& input, const Arguments&) {
  return marked(r, escape_html(to_text(r.budget(), input)));
}

Value escape(Rendering& r, const Value& input, const Arguments& arguments) {
  if (input.is(Kind::string) && input.text().safe) return input;
  return force_escape(r, input, arguments);
}

Value xml_attributes(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("xmlattr", arguments, {"autospace"});
  if (!input.is(Kind::dict)) fail("xmlattr needs a mapping, not ", input.type_name());
  std::string out;
  for (const auto& [key, value] : input.as_dict().items) {
    if (value.is(Kind::none) || value.is(Kind::undefined)) continue;
    const std::string name = to_text(r.budget(), key);
    const bool bad = std::ranges::any_of(name, [](char c) {
      return std::string_view(" \t\n\v\f\r/>=").find(c) != std::string_view::npos;
    });
    if (bad) fail("Invalid character in attribute name: ", repr(r.budget(), key));
    if (!out.empty()) out += ' ';
    const std::string text = to_text(r.budget(), escape(r, value, {}));
    out += concat(to_text(r.budget(), escape(r, key, {})), "=\"", text, "\"");
    r.budget().allocate(name.size() + text.size() + 4);
  }
  if (!out.empty() && bound.truth(0, true)) out.insert(out.begin(), ' ');
  return make_text(r.budget(), std::move(out));
}

/// The text without what stands between `begin` and `end`, marks included. Linear time.
std::string without(std::string_view text, std::string_view begin, std::string_view end) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t first = find_text(text, begin, at);
    const size_t last = first == std::string_view::npos ? first : find_text(text, end, first);
    if (last == std::string_view::npos) break;
    out += text.substr(at, first - at);
    at = last + end.size();
  }
  return out += text.substr(at);
}

/// What a character reference stands for: "&#38;" or a name that is known.
std::string reference(std::string_view body) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"apos", "'"}, {"nbsp", "\u00a0"}};
  if (body.starts_with('#')) {
    body.remove_prefix(1);
    const bool hexadecimal = body.starts_with('x') || body.starts_with('X');
    if (hexadecimal) body.remove_prefix(1);
    uint32_t value = 0;
    const char* end = body.data() + body.size();
    const auto parsed = std::from_chars(body.data(), end, value, hexadecimal ? 16 : 10);
    const bool control = value < 0x20 || (value >= 0x7f && value < 0xa0);
    if (parsed.ec != std::errc() || parsed.ptr != end || control || value > 0x10ffff) {
      fail("the character reference &#", body, "; is not supported");
    }
    std::string out;
    append_utf8(out, value);
    return out;
  }
  for (const auto& [name, character] : names) {
    if (name == body) return std::string(character);
  }
  fail("the character reference &", body, "; is not supported");
}

Value strip_tags(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("striptags", arguments, {});
  std::string text = to_text(r.budget(), input);
  r.budget().allocate(text.size() * 4);
  text = without(without(text, "<!--", "-->"), "<", ">");
  std::string joined;
  for (const std::string& word : split_spaces(text, -1, false)) {
    if (!joined.empty()) joined += ' ';
    joined += word;
  }
  constexpr size_t name_bytes_max = 32;
  std::string out;
  for (size_t at = 0; at < joined.size();) {
    const size_t mark = std::min(joined.find('&', at), joined.size());
    out.append(joined, at, mark - at);
    at = mark;
    if (mark == joined.size()) break;
    const std::string_view rest = std::string_view(joined).substr(mark + 1, name_bytes_max);
    const size_t end = rest.find_first_of(";&< \t\n");
    if (end == std::string_view::npos || end == 0 || rest[end] != ';') {
      out += joined[at++];
      continue;
    }
    out += reference(rest.substr(0, end));
    at = mark + end + 2;
  }
  return make_text(r.budget(), std::move(out));
}

std::string quoted(std::string_view text, bool in_query) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       std::string_view("_.-~").find(c) != std::string_view::npos;
    if (plain || (c == '/' && !in_query)) {
      out += c;
    } else if (c == ' ' && in_query) {
      out += '+';
    } else {
      const uint8_t byte = static_cast<uint8_t>(c);
      out += '%';
      out += "0123456789ABCDEF"[byte >> 4];
      out += "0123456789ABCDEF"[byte & 15];
    }
  }
  return out;
}

Value url_encode(Rendering& r, const Value& input, const Arguments&) {
  if (!input.is(Kind::dict) && !input.is(Kind::sequence)) {
    return make_text(r.budget(), quoted(to_text(r.budget(), input), false));
  }
  std::string out;
  const auto put = [&](const Value& key, const Value& value) {
    if (!out.empty()) out += '&';
    const std::string pair = concat(quoted(to_text(r.budget(), key), true), "=",
                                    quoted(to_text(r.budget(), value), true));
    r.budget().allocate(pair.size());
    out += pair;
  };
  if (input.is(Kind::dict)) {
    for (const auto& [key, value] : input.as_dict().items) put(key, value);
    return make_text(r.budget(), std::move(out));
  }
  for (const Value& pair : iterate(r.budget(), input)) {
    const std::vector<Value> two = iterate(r.budget(), pair);
    if (two.size() != 2) fail("urlencode needs pairs");
    put(two[0], two[1]);
  }
  return make_text(r.budget(), std::move(out));
}

Value urlize(Rendering&, const Value&, const Arguments&) {
  fail("the filter 'urlize' is not supported: a chat template writes text, not HTML");
}

}  // namespace

FilterFunction find_markup_filter(std::string_view name) {
  static const std::unordered_map<std::string_view, FilterFunction> table = {
      {"safe", safe},
      {"e", escape},
      {"escape", escape},
      {"forceescape", force_escape},
      {"xmlattr", xml_attributes},
      {"striptags", strip_tags},
      {"urlencode", url_encode},
      {"urlize", urlize},
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace troupe::text::jinja
