// "..." % value and "...".format(...): directives and fields; jinja_format_spec.cpp has the values.
#include <algorithm>
#include <charconv>

#include "text/jinja_format_spec.hpp"
#include "text/jinja_operations.hpp"

namespace troupe::text::jinja {

namespace {

/// {0.name[key]}: the argument and what is taken from it.
Value resolve_field(Budget& budget, std::string_view field, const Arguments& arguments,
                    size_t& next) {
  size_t at = field.find_first_of(".[");
  const std::string first(field.substr(0, at));
  Value value;
  size_t index = 0;
  const auto parsed = std::from_chars(first.data(), first.data() + first.size(), index);
  if (first.empty() || (parsed.ec == std::errc() && parsed.ptr == first.data() + first.size())) {
    if (first.empty()) index = next++;
    if (index >= arguments.positional.size()) fail("format has no argument ", index);
    value = arguments.positional[index];
  } else {
    bool found = false;
    for (const auto& [name, named] : arguments.named) {
      if (name != first) continue;
      value = named;
      found = true;
    }
    if (!found) fail("format has no argument '", first, "'");
  }
  while (at < field.size()) {
    const bool bracket = field[at] == '[';
    const size_t end = bracket ? field.find(']', at) : field.find_first_of(".[", at + 1);
    if (bracket && end == std::string_view::npos) fail("'[' is not closed in a format");
    const std::string key(field.substr(at + 1, end == std::string_view::npos ? end : end - at - 1));
    value =
        bracket ? get_item(budget, value, Value::string(key)) : get_attribute(budget, value, key);
    at = end == std::string_view::npos ? field.size() : bracket ? end + 1 : end;
  }
  return value;
}

/// One directive after '%', with the mapping or the next positional value.
class PercentFormat {
 public:
  PercentFormat(Budget& budget, std::string_view format, const Value& value)
      : budget_(budget), format_(format), value_(value) {
    tuple_ = value.is(Kind::sequence) && value.as_sequence().is_tuple();
  }

  std::string run() {
    std::string out;
    while (at_ < format_.size()) {
      const size_t mark = std::min(format_.find('%', at_), format_.size());
      budget_.allocate(mark - at_);
      out.append(format_.substr(at_, mark - at_));
      at_ = mark + 1;
      if (mark < format_.size()) out += directive();
    }
    // What has items by key or index, but for tuples, may go unused.
    const bool indexed = value_.is(Kind::dict) ||
                         (value_.is(Kind::sequence) && !tuple_ && value_.as_sequence().has_index());
    if (used_ < (tuple_ ? value_.as_sequence().items.size() : 1) && !indexed) {
      fail("not all values were used by the format");
    }
    return out;
  }

 private:
  std::string directive() {
    if (at_ < format_.size() && format_[at_] == '%') {
      ++at_;
      return "%";
    }
    std::optional<Value> value = keyed_value();
    FormatSpec spec;
    spec.align = '>';
    for (;
         at_ < format_.size() && std::string_view("-+0 #").find(format_[at_]) != std::string::npos;
         ++at_) {
      const char flag = format_[at_];
      if (flag == '-') spec.align = '<';
      if (flag == '+' || (flag == ' ' && spec.sign != '+')) spec.sign = flag;
      if (flag == '#') spec.alternate = true;
      if (flag == '0') spec.zeros = true;
    }
    if (spec.align == '<') spec.zeros = false;
    spec.width = number_or_star();
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -spec.width;
    }
    if (at_ < format_.size() && format_[at_] == '.') {
      ++at_;
      spec.precision = std::max<int64_t>(number_or_star(), 0);
    }
    while (at_ < format_.size() && std::string_view("hlL").find(format_[at_]) != std::string::npos)
      ++at_;
    if (at_ >= format_.size()) fail("incomplete format");
    spec.type = format_[at_++];
    return percent_text(budget_, value ? *value : next_value(), spec);
  }

  int64_t number_or_star() {
    if (at_ >= format_.size() || format_[at_] != '*') return read_format_number(format_, at_);
    ++at_;
    const Value value = next_value();
    if (!value.is_integral()) fail("* wants int");
    return value.to_integer();
  }

  std::optional<Value> keyed_value() {
    if (at_ >= format_.size() || format_[at_] != '(') return std::nullopt;
    const size_t end = format_.find(')', at_);
    if (end == std::string_view::npos) fail("'(' is not closed in a format");
    const std::string key(format_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    if (!value_.is(Kind::dict)) fail("a format with names needs a dict");
    return get_item(budget_, value_, Value::string(key));
  }

  Value next_value() {
    const size_t i = used_++;
    if (!tuple_ && i == 0) return value_;
    if (!tuple_ || i >= value_.as_sequence().items.size()) fail("not enough values for the format");
    return value_.as_sequence().items[i];
  }

  Budget& budget_;
  std::string_view format_;
  const Value& value_;
  bool tuple_ = false;
  size_t at_ = 0;
  size_t used_ = 0;
};

}  // namespace

std::string percent_format(Budget& budget, const std::string& format, const Value& value) {
  return PercentFormat(budget, format, value).run();
}

namespace {

/// Replacement fields inside of a format's specification: {:{width}}.
std::string filled_spec(Budget& budget, std::string_view spec, const Arguments& arguments,
                        size_t& next) {
  std::string out;
  for (size_t at = 0; at < spec.size();) {
    const size_t open = std::min(spec.find('{', at), spec.size());
    out += spec.substr(at, open - at);
    if (open == spec.size()) break;
    const size_t close = spec.find('}', open);
    if (close == std::string_view::npos) fail("a single brace in a format");
    const std::string_view field = spec.substr(open + 1, close - open - 1);
    out += to_text(budget, resolve_field(budget, field, arguments, next));
    at = close + 1;
  }
  return out;
}

/// Offset behind the brace that closes the field which begins at `at`.
size_t end_of_field(std::string_view format, size_t at) {
  for (int open = 1; at < format.size(); ++at) {
    if (format[at] == '{') ++open;
    if (format[at] == '}' && --open == 0) return at;
  }
  fail("expected '}' before end of string");
}

std::string field_text(Budget& budget, std::string_view field, const Arguments& arguments,
                       size_t& next) {
  std::string_view spec;
  char conversion = '\0';
  const size_t colon = field.find(':');
  const size_t bang = field.substr(0, colon).find('!');
  if (colon != std::string_view::npos) spec = field.substr(colon + 1);
  field = field.substr(0, colon);
  if (bang != std::string_view::npos) {
    if (bang + 2 != field.size()) fail("expected one character after '!' in a format");
    conversion = field[bang + 1];
    field = field.substr(0, bang);
  }
  Value value = resolve_field(budget, field, arguments, next);
  if (conversion == 'r') {
    value = make_text(budget, repr(budget, value));
  } else if (conversion == 's') {
    value = make_text(budget, to_text(budget, value));
  } else if (conversion != '\0') {
    fail("the conversion '!", std::string(1, conversion), "' is not supported");
  }
  return brace_text(budget, value, filled_spec(budget, spec, arguments, next));
}

}  // namespace

std::string brace_format(Budget& budget, const std::string& format, const Arguments& arguments) {
  std::string out;
  size_t next = 0;
  for (size_t at = 0; at < format.size();) {
    const size_t mark = std::min(format.find_first_of("{}", at), format.size());
    out.append(format, at, mark - at);
    if (mark == format.size()) break;
    at = mark + 1;
    if (at < format.size() && format[at] == format[mark]) {
      out += format[at++];
      continue;
    }
    if (format[mark] == '}') fail("Single '}' encountered in format string");
    const size_t end = end_of_field(format, at);
    budget.touch(end - at);
    const std::string text =
        field_text(budget, std::string_view(format).substr(at, end - at), arguments, next);
    budget.allocate(text.size());
    out += text;
    at = end + 1;
  }
  return out;
}

}  // namespace troupe::text::jinja
