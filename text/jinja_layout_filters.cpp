// Filters that lay text out: lines, widths, words, sizes.
#include <array>
#include <cmath>
#include <cstdio>
#include <unordered_map>

#include "text/jinja_operations.hpp"
#include "text/jinja_rendering.hpp"
#include "text/jinja_strings.hpp"
#include "text/jinja_wrap.hpp"
#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace troupe::text::jinja {

namespace {

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
    const bool word = is_word_character(step.code_point);
    if (word && !inside) ++count;
    inside = word;
    at += step.bytes;
  }
  return Value::integer(count);
}

Value word_wrap(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("wordwrap", arguments,
                    {"width", "break_long_words", "wrapstring", "break_on_hyphens"});
  if (!input.is(Kind::string)) fail("wordwrap needs a string, not ", input.type_name());
  WrapStyle style;
  style.width = bound.integer(0, 79);
  if (style.width < 1) fail("wordwrap needs a width of at least 1");
  style.breaks_long_words = bound.truth(1, true);
  style.breaks_at_hyphens = bound.truth(3, true);
  const std::string separator = bound.text(2, "\n");
  std::string out;
  bool first = true;
  r.budget().work(input.as_string().size() / 8);
  for (const std::string& line : split_lines(input.as_string(), false)) {
    const std::vector<std::string> wrapped = wrap_line(line, style);
    if (!std::exchange(first, false)) out += separator;
    for (size_t i = 0; i < wrapped.size(); ++i) {
      if (i > 0) out += separator;
      out += wrapped[i];
      r.budget().allocate(wrapped[i].size() + separator.size());
    }
    r.budget().allocate(separator.size());
  }
  return make_text(r.budget(), std::move(out));
}

Value file_size(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("filesizeformat", arguments, {"binary"});
  const FilterFunction to_float = find_filter("float");
  if (!input.is_number() && !input.is(Kind::string)) {
    fail("filesizeformat needs a number, not ", input.type_name());
  }
  const double bytes = to_float(r, input, {}).as_real();
  const bool binary = bound.truth(0, false);
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return Value::string("1 Byte");
  if (bytes < base) {
    return make_text(r.budget(), concat(static_cast<int64_t>(std::max(bytes, -9e18)), " Bytes"));
  }
  constexpr const char* letters = "kMGTPEZY";
  int i = 0;
  double unit = base * base;
  for (; i < 7 && bytes >= unit; ++i) unit *= base;
  std::array<char, 512> number{};
  std::snprintf(number.data(), number.size(), "%.1f ", base * bytes / unit);
  const char letter = binary && i == 0 ? 'K' : letters[i];
  return make_text(r.budget(), concat(number.data(), std::string(1, letter), binary ? "iB" : "B"));
}

}  // namespace

FilterFunction find_layout_filter(std::string_view name) {
  static const std::unordered_map<std::string_view, FilterFunction> table = {
      {"indent", indent},        {"center", center},      {"truncate", truncate},
      {"wordcount", word_count}, {"wordwrap", word_wrap}, {"filesizeformat", file_size},
      {"pprint", pretty_filter},
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace troupe::text::jinja
