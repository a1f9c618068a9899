// Methods of strings, as Python's str has them.
#include <algorithm>
#include <unordered_map>

#include "text/jinja_operations.hpp"
#include "text/jinja_strings.hpp"
#include "text/text_limits.hpp"
#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace troupe::text::jinja {

namespace {

using StringMethod = Value (*)(Budget&, const std::string&, const Arguments&);

Value strip_with(Budget& budget, const std::string& self, const Arguments& arguments, bool left,
                 bool right) {
  const Bound bound("strip", arguments, {"chars"});
  budget.touch(self.size());
  if (!bound.has(0) || bound.at(0).is(Kind::none)) {
    return make_text(budget, strip(self, std::nullopt, left, right));
  }
  const std::string chars = bound.text(0, {});
  budget.work(self.size() * (chars.size() + 1) / 64);
  return make_text(budget, strip(self, chars, left, right));
}

Value texts(Budget& budget, const std::vector<std::string>& parts, Flavour flavour) {
  std::vector<Value> values;
  budget.allocate(parts.size() * (sizeof(Value) + sizeof(String)));
  for (const std::string& part : parts) values.push_back(make_text(budget, part));
  return Value::sequence(std::move(values), flavour);
}

Value split_with(Budget& budget, const std::string& self, const Arguments& arguments,
                 bool from_right) {
  const Bound bound("split", arguments, {"sep", "maxsplit"});
  const int64_t most = bound.integer(1, -1);
  budget.allocate(self.size() * 2);
  if (!bound.has(0) || bound.at(0).is(Kind::none)) {
    return texts(budget, split_spaces(self, most, from_right), Flavour::list);
  }
  const std::string separator = bound.text(0, {});
  if (separator.empty()) fail("the separator of split is empty");
  return texts(budget, split(self, separator, most, from_right), Flavour::list);
}

/// The part that [start, end) of the arguments `from` and `from + 1` names, in characters.
struct Part {
  std::string_view text;
  size_t begin = 0;    ///< characters before it
  bool exists = true;  ///< false: it begins behind the end, where not even "" is found
};

Part part_of(Budget& budget, const std::string& self, const Bound& bound, size_t from) {
  Part part{self};
  if (!bound.has(from)) return part;
  budget.work(self.size() / 8 + 1);
  const int64_t count = static_cast<int64_t>(utf8_length(self));
  const auto place = [&](size_t i, int64_t fallback) {
    const int64_t at = bound.integer(i, fallback);
    return std::max<int64_t>(at < 0 ? at + count : at, 0);
  };
  const int64_t begin = place(from, 0);
  const int64_t end = std::min(place(from + 1, count), count);
  part.begin = static_cast<size_t>(std::min(begin, count));
  part.exists = begin <= end;
  const auto offset = [&](int64_t characters) {
    size_t at = 0;
    for (int64_t i = 0; i < characters; ++i) at += utf8_step(self, at).bytes;
    return at;
  };
  const size_t first = offset(std::min(begin, count));
  part.text = std::string_view(self).substr(first);
  if (begin < end) part.text = part.text.substr(0, offset(end) - first);
  if (begin >= end) part.text = {};
  return part;
}

Value affix_test(Budget& budget, const std::string& self, const Arguments& arguments, bool start) {
  const Bound bound(start ? "startswith" : "endswith", arguments, {"affix", "start", "end"});
  const Part part = part_of(budget, self, bound, 1);
  const auto matches = [&](const Value& value) {
    if (!value.is(Kind::string)) {
      fail(start ? "startswith" : "endswith", " needs a string or a tuple of strings, not ",
           value.type_name());
    }
    if (!part.exists) return false;
    return start ? part.text.starts_with(value.as_string())
                 : part.text.ends_with(value.as_string());
  };
  const Value& affix = bound.need(0);
  if (!affix.is(Kind::sequence) || !affix.as_sequence().is_tuple()) {
    return Value::boolean(matches(affix));
  }
  const std::vector<Value>& all = affix.as_sequence().items;
  budget.work(all.size());
  return Value::boolean(std::any_of(all.begin(), all.end(), matches));
}

Value find_in(Budget& budget, const std::string& self, const Arguments& arguments, bool from_right,
              bool must) {
  const Bound bound("find", arguments, {"sub", "start", "end"});
  bound.need(0);
  const std::string needle = bound.text(0, {});
  budget.touch(self.size() * (from_right ? 1 + needle.size() / 64 : 1));
  const Part part = part_of(budget, self, bound, 1);
  const size_t at = !part.exists ? std::string::npos
                    : from_right ? find_last(part.text, needle)
                                 : find_text(part.text, needle);
  if (at == std::string::npos) {
    if (must) fail("substring not found");
    return Value::integer(-1);
  }
  return Value::integer(static_cast<int64_t>(part.begin + utf8_length(part.text.substr(0, at))));
}

Value count_in(Budget& budget, const std::string& self, const Arguments& arguments) {
  const Bound bound("count", arguments, {"sub", "start", "end"});
  bound.need(0);
  budget.touch(self.size());
  const Part part = part_of(budget, self, bound, 1);
  return Value::integer(part.exists ? count_text(part.text, bound.text(0, {})) : 0);
}

Value partition_at(Budget& budget, const std::string& self, const Arguments& arguments,
                   bool from_right) {
  const Bound bound("partition", arguments, {"sep"});
  const std::string separator = bound.text(0, {});
  if (separator.empty()) fail("the separator of partition is empty");
  budget.touch(self.size() * (from_right ? 1 + separator.size() / 64 : 1));
  const size_t at = from_right ? find_last(self, separator) : find_text(self, separator);
  if (at == std::string::npos) {
    if (from_right) return texts(budget, {"", "", self}, Flavour::tuple);
    return texts(budget, {self, "", ""}, Flavour::tuple);
  }
  return texts(budget, {self.substr(0, at), separator, self.substr(at + separator.size())},
               Flavour::tuple);
}

Value join_method(Budget& budget, const std::string& self, const Arguments& arguments) {
  const Bound bound("join", arguments, {"iterable"});
  std::string out;
  bool first = true;
  for (const Value& item : iterate(budget, bound.need(0))) {
    if (!item.is(Kind::string)) fail("join needs strings, found ", item.type_name());
    if (!std::exchange(first, false)) out += self;
    out += item.as_string();
    budget.allocate(self.size() + item.as_string().size());
  }
  return make_text(budget, std::move(out));
}

Value replace_method(Budget& budget, const std::string& self, const Arguments& arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"});
  bound.need(0);
  bound.need(1);
  return make_text(budget, replace_text(budget, self, bound.text(0, {}), bound.text(1, {}),
                                        bound.integer(2, -1)));
}

Value pad_method(Budget& budget, const std::string& self, const Arguments& arguments, int side) {
  const Bound bound("justify", arguments, {"width", "fillchar"});
  const std::string fill = bound.text(1, " ");
  if (utf8_length(fill) != 1) fail("the fill character must be exactly one character long");
  return make_text(budget, pad(budget, self, bound.integer(0, 0), fill, side));
}

Value affix_removal(Budget& budget, const std::string& self, const Arguments& arguments,
                    bool start) {
  const Bound bound("removeprefix", arguments, {"affix"});
  const std::string affix = bound.text(0, {});
  std::string out = self;
  if (start && out.starts_with(affix))
    out.erase(0, affix.size());
  else if (!start && out.ends_with(affix))
    out.resize(out.size() - affix.size());
  return make_text(budget, std::move(out));
}

template <bool (*test)(uint32_t)>
Value all_characters(Budget& budget, const std::string& self, const Arguments&) {
  budget.work(self.size() / 8);
  for (size_t at = 0; at < self.size();) {
    const Utf8Step step = utf8_step(self, at);
    if (!test(step.code_point)) return Value::boolean(false);
    at += step.bytes;
  }
  return Value::boolean(!self.empty());
}

bool is_alpha(uint32_t c) {
  return is_letter(category(c));
}
bool is_decimal(uint32_t c) {
  return category(c) == Category::Nd;
}
bool is_alphanumeric(uint32_t c) {
  return is_alpha(c) || is_numeric(c);
}

template <bool (*test)(std::string_view)>
Value tested(Budget& budget, const std::string& self, const Arguments&) {
  budget.work(self.size() / 8);
  return Value::boolean(test(self));
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

/// Tabs become spaces up to the next multiple of the size.
Value expand_tabs(Budget& budget, const std::string& self, const Arguments& arguments) {
  const Bound bound("expandtabs", arguments, {"tabsize"});
  const int64_t size = bound.integer(0, 8);
  std::string out;
  int64_t column = 0;
  for (const char c : self) {
    if (c == '\t') {
      const int64_t missing = size > 0 ? size - column % size : 0;
      if (missing > static_cast<int64_t>(limits::prompt_bytes_max)) fail("the tab size is too big");
      budget.allocate(static_cast<size_t>(missing));
      out.append(static_cast<size_t>(missing), ' ');
      column += missing;
      continue;
    }
    out += c;
    if (c == '\n' || c == '\r') {
      column = 0;
    } else if ((static_cast<uint8_t>(c) & 0xc0) != 0x80) {
      ++column;
    }
  }
  return make_text(budget, std::move(out));
}

Value format_map(Budget& budget, const std::string& self, const Arguments& arguments) {
  const Bound bound("format_map", arguments, {"mapping"});
  if (!bound.need(0).is(Kind::dict)) fail("format_map needs a mapping");
  Arguments named;
  for (const auto& [key, value] : bound.at(0).as_dict().items) {
    if (key.is(Kind::string)) named.named.emplace_back(key.as_string(), value);
  }
  budget.allocate(named.named.size() * sizeof(named.named[0]));
  return make_text(budget, brace_format(budget, self, named));
}

Value is_space_method(Budget& budget, const std::string& self, const Arguments&) {
  budget.touch(self.size());
  return Value::boolean(!self.empty() && strip(self, std::nullopt, true, true).empty());
}

Value zfill(Budget& budget, const std::string& self, const Arguments& arguments) {
  const Bound bound("zfill", arguments, {"width"});
  const bool sign = self.starts_with('-') || self.starts_with('+');
  const std::string digits = sign ? self.substr(1) : self;
  const int64_t width = bound.integer(0, 0) - (sign ? 1 : 0);
  return make_text(budget, self.substr(0, sign ? 1 : 0) + pad(budget, digits, width, "0", 1));
}

template <std::string (*map)(std::string_view)>
Value mapped(Budget& budget, const std::string& self, const Arguments&) {
  budget.work(self.size() / 8);
  return make_text(budget, map(self));
}

const std::unordered_map<std::string_view, StringMethod>& methods() {
  using B = Budget&;
  using S = const std::string&;
  using A = const Arguments&;
  static const std::unordered_map<std::string_view, StringMethod> table = {
      {"strip", [](B b, S s, A a) { return strip_with(b, s, a, true, true); }},
      {"lstrip", [](B b, S s, A a) { return strip_with(b, s, a, true, false); }},
      {"rstrip", [](B b, S s, A a) { return strip_with(b, s, a, false, true); }},
      {"split", [](B b, S s, A a) { return split_with(b, s, a, false); }},
      {"rsplit", [](B b, S s, A a) { return split_with(b, s, a, true); }},
      {"splitlines",
       [](B b, S s, A a) {
         const Bound bound("splitlines", a, {"keepends"});
         return texts(b, split_lines(s, bound.truth(0, false)), Flavour::list);
       }},
      {"startswith", [](B b, S s, A a) { return affix_test(b, s, a, true); }},
      {"endswith", [](B b, S s, A a) { return affix_test(b, s, a, false); }},
      {"removeprefix", [](B b, S s, A a) { return affix_removal(b, s, a, true); }},
      {"removesuffix", [](B b, S s, A a) { return affix_removal(b, s, a, false); }},
      {"find", [](B b, S s, A a) { return find_in(b, s, a, false, false); }},
      {"rfind", [](B b, S s, A a) { return find_in(b, s, a, true, false); }},
      {"index", [](B b, S s, A a) { return find_in(b, s, a, false, true); }},
      {"rindex", [](B b, S s, A a) { return find_in(b, s, a, true, true); }},
      {"partition", [](B b, S s, A a) { return partition_at(b, s, a, false); }},
      {"rpartition", [](B b, S s, A a) { return partition_at(b, s, a, true); }},
      {"count", count_in},
      {"join", join_method},
      {"replace", replace_method},
      {"format", [](B b, S s, A a) { return make_text(b, brace_format(b, s, a)); }},
      {"upper", mapped<upper>},
      {"lower", mapped<lower>},
      {"format_map", format_map},
      {"casefold", mapped<casefold>},
      {"swapcase", mapped<swapcase>},
      {"expandtabs", expand_tabs},
      {"title", mapped<title>},
      {"capitalize", mapped<capitalize>},
      {"ljust", [](B b, S s, A a) { return pad_method(b, s, a, -1); }},
      {"rjust", [](B b, S s, A a) { return pad_method(b, s, a, 1); }},
      {"center", [](B b, S s, A a) { return pad_method(b, s, a, 0); }},
      {"zfill", zfill},
      {"isalpha", all_characters<is_alpha>},
      {"isdigit", all_characters<is_digit>},
      {"isdecimal", all_characters<is_decimal>},
      {"isnumeric", all_characters<is_numeric>},
      {"isalnum", all_characters<is_alphanumeric>},
      {"isspace", is_space_method},
      {"isascii", tested<is_ascii>},
      {"isupper", tested<all_upper>},
      {"islower", tested<all_lower>},
      {"istitle", tested<all_title>},
  };
  return table;
}

}  // namespace

bool has_string_method(std::string_view name) {
  return methods().contains(name);
}

Value call_string_method(Budget& budget, const std::string& self, const std::string& name,
                         const Arguments& arguments) {
  budget.touch(self.size());
  return methods().at(name)(budget, self, arguments);
}

}  // namespace troupe::text::jinja
