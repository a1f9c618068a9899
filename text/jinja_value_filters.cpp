// Filters over single values: default, numbers, attr.
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>

#include "text/jinja_operations.hpp"
#include "text/jinja_rendering.hpp"
#include "text/jinja_strings.hpp"

namespace troupe::text::jinja {

namespace {

Value default_filter(Rendering&, const Value& input, const Arguments& arguments) {
  const Bound bound("default", arguments, {"default_value", "boolean"});
  const bool missing = input.is(Kind::undefined) || (bound.truth(1, false) && !input.truth());
  if (!missing) return input;
  return bound.has(0) ? bound.at(0) : Value::string("");
}

/// Digits with single underscores between them, as Python allows; empty: they stand elsewhere.
std::string without_underscores(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](size_t k) {
      return k < text.size() && std::isalnum(static_cast<uint8_t>(text[k])) != 0;
    };
    if (text[i] != '_')
      out += text[i];
    else if (i == 0 || !digit(i - 1) || !digit(i + 1))
      return {};
  }
  return out;
}

std::optional<int64_t> parse_integer(std::string_view text, int64_t base) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const char letter = base == 16 ? 'x' : base == 8 ? 'o' : base == 2 ? 'b' : '\0';
  if (letter != '\0' && text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == letter) {
    text.remove_prefix(text[2] == '_' ? 3 : 2);
  }
  const std::string digits = (negative ? "-" : "") + without_underscores(text);
  if (text.starts_with('-') || text.starts_with('+')) return std::nullopt;
  int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, value, static_cast<int>(base));
  const bool whole_text = parsed.ec == std::errc() && parsed.ptr == end;
  return whole_text ? std::optional<int64_t>(value) : std::nullopt;
}

std::optional<double> parse_real(std::string_view spelling) {
  const std::string clean = without_underscores(spelling);
  std::string_view text = clean;
  double value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with('-') && spelling.starts_with('+')) return std::nullopt;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::optional<int64_t> whole(double value) {
  if (!(std::fabs(value) < 9.2e18)) return std::nullopt;
  return static_cast<int64_t>(value);
}

Value int_filter(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("int", arguments, {"default", "base"});
  const Value fallback = bound.has(0) ? bound.at(0) : Value::integer(0);
  std::optional<int64_t> result;
  if (input.is_integral())
    result = input.to_integer();
  else if (input.is(Kind::real))
    result = whole(input.as_real());
  else if (input.is(Kind::string)) {
    const int64_t base = bound.integer(1, 10);
    if (base < 2 || base > 36) fail("the base of int must be 2 to 36");
    r.budget().touch(input.as_string().size());
    const std::string text = strip(input.as_string(), std::nullopt, true, true);
    result = parse_integer(text, base);
    if (!result) {
      if (const std::optional<double> real = parse_real(text)) result = whole(*real);
    }
  }
  return result ? Value::integer(*result) : fallback;
}

Value float_filter(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("float", arguments, {"default"});
  if (input.is_number()) return Value::real(input.to_real());
  if (input.is(Kind::string)) {
    r.budget().touch(input.as_string().size());
    const std::string text = strip(input.as_string(), std::nullopt, true, true);
    if (const std::optional<double> value = parse_real(text)) return Value::real(*value);
  }
  return bound.has(0) ? bound.at(0) : Value::real(0.0);
}

/// An integer stays one; half goes to the even neighbour.
Value rounded(int64_t value, int64_t precision) {
  if (precision >= 0) return Value::integer(value);
  int64_t unit = 1;
  for (int64_t i = 0; i > precision; --i) unit *= 10;
  const int64_t rest = ((value % unit) + unit) % unit;
  const int64_t low = (value - rest) / unit;
  const bool up = rest > unit - rest || (rest == unit - rest && low % 2 != 0);
  int64_t result = 0;
  if (__builtin_mul_overflow(low + (up ? 1 : 0), unit, &result)) {
    fail("an integer does not fit into 64 bits");
  }
  return Value::integer(result);
}

Value round_filter(Rendering&, const Value& input, const Arguments& arguments) {
  const Bound bound("round", arguments, {"precision", "method"});
  if (!input.is_number()) fail("round needs a number, not ", input.type_name());
  const int64_t precision = bound.integer(0, 0);
  if (precision < -15 || precision > 15) fail("the precision of round must be -15 to 15");
  const std::string method = bound.text(1, "common");
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = input.to_real() * scale;
  if (method == "ceil") return Value::real(std::ceil(scaled) / scale);
  if (method == "floor") return Value::real(std::floor(scaled) / scale);
  if (method != "common") fail("the method of round is 'common', 'ceil' or 'floor'");
  if (input.is_integral()) return rounded(input.to_integer(), precision);
  if (precision < 0) return Value::real(std::nearbyint(scaled) / scale);
  // By its decimal digits: 2.675 is a little less than it looks.
  std::array<char, 400> digits{};
  std::snprintf(digits.data(), digits.size(), "%.*f", static_cast<int>(precision), input.to_real());
  return Value::real(std::strtod(digits.data(), nullptr));
}

Value abs_filter(Rendering&, const Value& input, const Arguments&) {
  if (!input.is_number()) fail("abs needs a number, not ", input.type_name());
  if (input.is_integral()) {
    return input.to_integer() < 0 ? negated(input) : Value::integer(input.to_integer());
  }
  return Value::real(std::fabs(input.as_real()));
}

Value attr(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("attr", arguments, {"name"});
  return attribute_only(r.budget(), input, bound.text(0, {}));
}

}  // namespace

FilterFunction find_value_filter(std::string_view name) {
  static const std::unordered_map<std::string_view, FilterFunction> table = {
      {"default", default_filter},
      {"d", default_filter},
      {"int", int_filter},
      {"float", float_filter},
      {"round", round_filter},
      {"abs", abs_filter},
      {"attr", attr},
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace troupe::text::jinja
