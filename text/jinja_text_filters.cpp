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
  if (!arguments.named.empty() && !arguments.positional.empty()) {
    fail("can't handle positional and keyword arguments at the same time");
  }
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

}  // namespace

FilterFunction find_text_filter(std::string_view name) {
  static const std::unordered_map<std::string_view, FilterFunction> table = {
      {"trim", trim},
      {"replace", replace},
      {"string", string_filter},
      {"tojson", to_json_filter},
      {"format", format},
      {"upper", mapped<upper>},
      {"lower", mapped<lower>},
      {"title", mapped<title_words>},
      {"capitalize", mapped<capitalize>},
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace troupe::text::jinja
