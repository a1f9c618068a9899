// Filters over single values: default, numbers, attr.
#include <charconv>
#include <cmath>
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

std::optional<double> parse_real(std::string_view text) {
  double value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
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
    std::string text = strip(input.as_string(), std::nullopt, true, true);
    if (text.starts_with('+')) text.erase(0, 1);
    int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value, static_cast<int>(base));
    if (!text.empty() && parsed.ec == std::errc() && parsed.ptr == end)
      result = value;
    else if (const std::optional<double> real = parse_real(text))
      result = whole(*real);
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
  return Value::real(std::nearbyint(scaled) / scale);
}

Value abs_filter(Rendering&, const Value& input, const Arguments&) {
  if (!input.is_number()) fail("abs needs a number, not ", input.type_name());
  return input.to_real() < 0 ? negated(input) : input;
}

Value attr(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("attr", arguments, {"name"});
  return get_attribute(r.budget(), input, bound.text(0, {}));
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
