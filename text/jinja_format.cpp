// "..." % value and "...".format(...): the directives that templates use.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "text/jinja_operations.hpp"
#include "text/jinja_strings.hpp"

namespace troupe::text::jinja {

namespace {

struct Spec {
  char fill = ' ';
  char align = '\0';  ///< <, >, ^ or none
  bool plus = false;
  int64_t width = 0;
  int64_t precision = -1;
  char type = '\0';
};

constexpr int64_t precision_max = 60;

int64_t read_number(std::string_view text, size_t& at) {
  int64_t value = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    value = std::min<int64_t>(value * 10 + (text[at] - '0'),
                              static_cast<int64_t>(limits::prompt_bytes_max) + 1);
    ++at;
  }
  return value;
}

std::string number_text(double value, const Spec& spec) {
  const int precision = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
  if (precision > precision_max) fail("a precision of ", precision, " is above ", precision_max);
  std::array<char, 512> buffer{};
  const char* pattern = spec.type == 'e' ? "%.*e" : spec.type == 'g' ? "%.*g" : "%.*f";
  const int n = std::snprintf(buffer.data(), buffer.size(), pattern, precision,
                              spec.type == '%' ? value * 100.0 : value);
  std::string text(buffer.data(), static_cast<size_t>(n));
  if (spec.type == '%') text += '%';
  return text;
}

std::string integer_text(int64_t value, char type) {
  if (type != 'x' && type != 'X' && type != 'o') return std::to_string(value);
  std::array<char, 64> buffer{};
  const int base = type == 'o' ? 8 : 16;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, base).ptr;
  const std::string text(buffer.data(), end);
  return type == 'X' ? upper(text) : text;
}

std::string directive_text(Budget& budget, const Value& value, const Spec& spec) {
  std::string text;
  switch (spec.type) {
    case 'r':
      text = repr(budget, value);
      break;
    case 's':
    case '\0':
      if (spec.type == '\0' && spec.precision >= 0 && value.is(Kind::real)) {
        Spec general = spec;
        general.type = 'g';
        text = number_text(value.as_real(), general);
      } else {
        text = to_text(budget, value);
        if (spec.precision >= 0 && value.is(Kind::string)) {
          text = get_slice(budget, Value::string(text), Value::none(),
                           Value::integer(spec.precision), Value::none())
                     .as_string();
        }
      }
      break;
    case 'd':
    case 'i':
    case 'x':
    case 'X':
    case 'o': {
      if (!value.is_number()) fail("%", spec.type, " needs a number, not ", value.type_name());
      if (value.is(Kind::real) && std::fabs(value.as_real()) >= 9.2e18) {
        fail("a number does not fit into 64 bits");
      }
      text = integer_text(
          value.is(Kind::real) ? static_cast<int64_t>(value.as_real()) : value.to_integer(),
          spec.type);
      break;
    }
    case 'f':
    case 'F':
    case 'e':
    case 'g':
    case '%':
      if (!value.is_number()) fail("%", spec.type, " needs a number, not ", value.type_name());
      text = number_text(value.to_real(), spec);
      break;
    default:
      fail("the format '", spec.type, "' is not supported");
  }
  if (spec.plus && value.is_number() && !text.starts_with('-')) text.insert(text.begin(), '+');
  const bool number = value.is_number() && spec.type != 's' && spec.type != 'r';
  const char align = spec.align != '\0' ? spec.align : number ? '>' : '<';
  if (spec.fill == '0' && number && spec.align == '\0' && (text[0] == '-' || text[0] == '+')) {
    return text[0] + pad(budget, text.substr(1), spec.width - 1, "0", 1);
  }
  return pad(budget, text, spec.width, {&spec.fill, 1}, align == '<' ? -1 : align == '>' ? 1 : 0);
}

Spec parse_brace_spec(std::string_view text) {
  Spec spec;
  size_t at = 0;
  const auto is_align = [&](size_t i) {
    return i < text.size() && (text[i] == '<' || text[i] == '>' || text[i] == '^');
  };
  if (is_align(1)) {
    spec.fill = text[0];
    spec.align = text[1];
    at = 2;
  } else if (is_align(0)) {
    spec.align = text[0];
    at = 1;
  }
  if (at < text.size() && text[at] == '+') {
    spec.plus = true;
    ++at;
  }
  if (at < text.size() && text[at] == '0' && spec.align == '\0') spec.fill = '0';
  spec.width = read_number(text, at);
  if (at < text.size() && text[at] == '.') spec.precision = read_number(text, ++at);
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) fail("the format '", text, "' is not supported");
  return spec;
}

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
    tuple_ = value.is(Kind::sequence) && value.as_sequence().flavour == Flavour::tuple;
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
    if (used_ < (tuple_ ? value_.as_sequence().items.size() : 1) && !value_.is(Kind::dict)) {
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
    Spec spec;
    for (;
         at_ < format_.size() && std::string_view("-+0 #").find(format_[at_]) != std::string::npos;
         ++at_) {
      if (format_[at_] == '-') spec.align = '<';
      if (format_[at_] == '+') spec.plus = true;
      if (format_[at_] == '0') spec.fill = '0';
    }
    if (spec.align == '<') spec.fill = ' ';
    spec.width = read_number(format_, at_);
    if (at_ < format_.size() && format_[at_] == '.') spec.precision = read_number(format_, ++at_);
    if (at_ >= format_.size()) fail("the format ends inside a directive");
    spec.type = format_[at_++];
    if (!value) value = next_value();
    if (spec.align == '\0' && spec.fill != '0') spec.align = '>';
    return directive_text(budget_, *value, spec);
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
    const size_t end = format.find('}', at);
    if (format[mark] == '}' || end == std::string::npos) fail("a single brace in a format");
    std::string_view field = std::string_view(format).substr(at, end - at);
    at = end + 1;
    Spec spec;
    if (const size_t colon = field.find(':'); colon != std::string_view::npos) {
      spec = parse_brace_spec(field.substr(colon + 1));
      field = field.substr(0, colon);
    }
    if (const size_t bang = field.find('!'); bang != std::string_view::npos) {
      if (field.substr(bang) == "!r") spec.type = 'r';
      field = field.substr(0, bang);
    }
    const Value value = resolve_field(budget, field, arguments, next);
    const std::string text = directive_text(budget, value, spec);
    budget.allocate(text.size());
    out += text;
  }
  return out;
}

}  // namespace troupe::text::jinja
