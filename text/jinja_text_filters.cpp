// Filters that make text.
#include <unordered_map>

#include "text/jinja_operations.hpp"
#include "text/jinja_rendering.hpp"
#include "text/jinja_strings.hpp"
#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace troupe::text::jinja {

namespace {

template <std::string (*map)(std::string_view)>
Value mapped(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("the filter", arguments, {});
  const std::string text = to_text(r.budget(), input);
  r.budget().work(text.size() / 8);
  return make_text(r.budget(), map(text));
}

Value trim(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("trim", arguments, {"chars"});
  const std::string text = to_text(r.budget(), input);
  if (!bound.has(0) || bound.at(0).is(Kind::none)) {
    return make_text(r.budget(), strip(text, std::nullopt, true, true));
  }
  const std::string chars = bound.text(0, {});
  r.budget().work(text.size() * (chars.size() + 1) / 64);
  return make_text(r.budget(), strip(text, chars, true, true));
}

Value replace(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"});
  const std::string text = to_text(r.budget(), input);
  return make_text(r.budget(),
                   replace_text(r.budget(), text, to_text(r.budget(), bound.need(0)),
                                to_text(r.budget(), bound.need(1)), bound.integer(2, -1)));
}

Value string_filter(Rendering& r, const Value& input, const Arguments&) {
  return input.is(Kind::string) ? input : make_text(r.budget(), to_text(r.budget(), input));
}

Value safe(Rendering& r, const Value& input, const Arguments&) {
  return Value::string(to_text(r.budget(), input), true);
}

Value escape(Rendering& r, const Value& input, const Arguments&) {
  if (input.is(Kind::string) && input.text().safe) return input;
  std::string text = escape_html(to_text(r.budget(), input));
  r.budget().allocate(text.size());
  return Value::string(std::move(text), true);
}

Value to_json_filter(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii = bound.truth(0, false);
  if (bound.at(1).is(Kind::string)) {
    style.indent_text = bound.at(1).as_string();
    if (style.indent_text.empty()) style.indent = 0;
  } else {
    style.indent = bound.integer(1, -1);
  }
  if (style.indent > 64 || style.indent_text.size() > 64) fail("the indent of tojson is above 64");
  const bool lines = style.indent >= 0 || !style.indent_text.empty();
  if (lines) style.item_separator.assign(1, ',');
  if (bound.at(2).is(Kind::sequence)) {
    const std::vector<Value>& pair = bound.at(2).as_sequence().items;
    if (pair.size() != 2) fail("separators of tojson are two strings");
    style.item_separator = to_text(r.budget(), pair[0]);
    style.key_separator = to_text(r.budget(), pair[1]);
    if (style.item_separator.size() > 64 || style.key_separator.size() > 64) {
      fail("a separator of tojson has more than 64 bytes");
    }
  }
  style.sort_keys = bound.truth(3, false);
  return Value::string(to_json(r.budget(), input, style));
}

Value format(Rendering& r, const Value& input, const Arguments& arguments) {
  Value values;
  if (!arguments.named.empty()) {
    Pairs pairs;
    for (const auto& [name, value] : arguments.named) {
      set_key(r.budget(), pairs, Value::string(name), value);
    }
    values = Value::dict(std::move(pairs));
  } else {
    values = Value::sequence(arguments.positional, Flavour::tuple);
  }
  return make_text(r.budget(), percent_format(r.budget(), to_text(r.budget(), input), values));
}

Value indent(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("indent", arguments, {"width", "first", "blank"});
  std::string prefix(4, ' ');
  if (bound.at(0).is(Kind::string))
    prefix = bound.at(0).as_string();
  else if (bound.has(0))
    prefix = pad(r.budget(), "", bound.integer(0, 4), " ", 1);
  std::string out;
  if (bound.truth(1, false)) out += prefix;
  bool first = true;
  for (const std::string& line : split_lines(to_text(r.budget(), input) + "\n", false)) {
    if (!std::exchange(first, false)) {
      out += '\n';
      if (!line.empty() || bound.truth(2, false)) out += prefix;
    }
    out += line;
    r.budget().allocate(line.size() + prefix.size());
  }
  return make_text(r.budget(), std::move(out));
}

Value center(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("center", arguments, {"width"});
  const std::string text = to_text(r.budget(), input);
  return make_text(r.budget(), pad(r.budget(), text, bound.integer(0, 80), " ", 0));
}

Value truncate(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("truncate", arguments, {"length", "killwords", "end", "leeway"});
  const std::string text = to_text(r.budget(), input);
  const std::string end = bound.text(2, "...");
  const int64_t length = bound.integer(0, 255);
  const int64_t end_length = static_cast<int64_t>(utf8_length(end));
  if (length < end_length) fail("truncate to ", length, " leaves no room for '", end, "'");
  const int64_t leeway = std::min<int64_t>(bound.integer(3, 5), text.max_size() / 2);
  if (static_cast<int64_t>(utf8_length(text)) - leeway <= length) {
    return make_text(r.budget(), text);
  }
  std::string kept = get_slice(r.budget(), make_text(r.budget(), text), Value::none(),
                               Value::integer(length - end_length), Value::none())
                         .as_string();
  if (!bound.truth(1, false)) {
    if (const size_t space = kept.rfind(' '); space != std::string::npos) kept.resize(space);
  }
  return make_text(r.budget(), kept + end);
}

Value word_count(Rendering& r, const Value& input, const Arguments&) {
  const std::string text = to_text(r.budget(), input);
  r.budget().allocate(text.size());
  bool inside = false;
  int64_t count = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    const Category c = category(step.code_point);
    const bool word = is_letter(c) || is_number(c) || step.code_point == '_';
    if (word && !inside) ++count;
    inside = word;
    at += step.bytes;
  }
  return Value::integer(count);
}

Value url_encode(Rendering& r, const Value& input, const Arguments&) {
  std::string out;
  for (const char c : to_text(r.budget(), input)) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       std::string_view("_.-~/").find(c) != std::string_view::npos;
    if (plain) {
      out += c;
      continue;
    }
    const uint8_t byte = static_cast<uint8_t>(c);
    out += '%';
    out += "0123456789ABCDEF"[byte >> 4];
    out += "0123456789ABCDEF"[byte & 15];
  }
  return make_text(r.budget(), std::move(out));
}

}  // namespace

FilterFunction find_text_filter(std::string_view name) {
  static const std::unordered_map<std::string_view, FilterFunction> table = {
      {"trim", trim},
      {"replace", replace},
      {"string", string_filter},
      {"safe", safe},
      {"e", escape},
      {"escape", escape},
      {"forceescape", escape},
      {"tojson", to_json_filter},
      {"format", format},
      {"indent", indent},
      {"center", center},
      {"truncate", truncate},
      {"wordcount", word_count},
      {"urlencode", url_encode},
      {"upper", mapped<upper>},
      {"lower", mapped<lower>},
      {"title", mapped<title>},
      {"capitalize", mapped<capitalize>},
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace troupe::text::jinja
