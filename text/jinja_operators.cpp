// Equality, order, membership and arithmetic.
#include <algorithm>
#include <cmath>
#include <limits>

#include "text/jinja_operations.hpp"

namespace troupe::text::jinja {

namespace {

bool equal_dicts(Budget& budget, const Dict& a, const Dict& b) {
  if (a.items.size() != b.items.size()) return false;
  for (const auto& [key, value] : a.items) {
    const auto same_key = [&, &wanted = key](const auto& item) {
      return equal(budget, item.first, wanted);
    };
    const auto found = std::find_if(b.items.begin(), b.items.end(), same_key);
    if (found == b.items.end() || !equal(budget, found->second, value)) return false;
  }
  return true;
}

int sign(double difference) {
  return difference < 0 ? -1 : difference > 0 ? 1 : 0;
}

[[noreturn]] void fail_operands(std::string_view symbol, const Value& a, const Value& b) {
  if (a.is(Kind::undefined)) fail(a.why_undefined());
  if (b.is(Kind::undefined)) fail(b.why_undefined());
  fail("'", symbol, "' does not work between ", a.type_name(), " and ", b.type_name());
}

[[noreturn]] void fail_overflow() {
  fail("an integer does not fit into 64 bits");
}

Value add_strings(Budget& budget, const String& a, const String& b) {
  budget.allocate(a.bytes.size() + b.bytes.size());
  if (a.safe == b.safe) return Value::string(a.bytes + b.bytes, a.safe);
  const std::string left = a.safe ? a.bytes : escape_html(a.bytes);
  const std::string right = b.safe ? b.bytes : escape_html(b.bytes);
  budget.allocate(left.size() + right.size());
  return Value::string(left + right, true);
}

Value add(Budget& budget, const Value& a, const Value& b) {
  if (a.is(Kind::string) && b.is(Kind::string)) return add_strings(budget, a.text(), b.text());
  const bool sequences = a.is(Kind::sequence) && b.is(Kind::sequence);
  if (sequences && a.as_sequence().is_tuple() == b.as_sequence().is_tuple() &&
      a.as_sequence().flavour < Flavour::range && b.as_sequence().flavour < Flavour::range) {
    std::vector<Value> items = a.as_sequence().items;
    const std::vector<Value>& more = b.as_sequence().items;
    items.insert(items.end(), more.begin(), more.end());
    budget.allocate(items.size() * sizeof(Value));
    const bool tuple = a.as_sequence().is_tuple();
    return Value::sequence(std::move(items), tuple ? Flavour::tuple : Flavour::list);
  }
  if (a.is(Kind::string) && !b.is(Kind::undefined)) {
    fail("can only concatenate str (not \"", b.type_name(), "\") to str");
  }
  fail_operands("+", a, b);
}

Value repeat(Budget& budget, const Value& value, int64_t times) {
  const size_t count = times < 0 ? 0 : static_cast<size_t>(times);
  const size_t unit = value.is(Kind::string) ? value.as_string().size()
                                             : value.as_sequence().items.size() * sizeof(Value);
  if (unit > 0 && count > limits::template_memory_bytes_max / unit) {
    budget.allocate(limits::template_memory_bytes_max + 1);
  }
  budget.allocate(unit * count);
  if (value.is(Kind::string)) {
    std::string text;
    for (size_t i = 0; unit > 0 && i < count; ++i) text += value.as_string();
    return Value::string(std::move(text), value.text().safe);
  }
  const std::vector<Value>& items = value.as_sequence().items;
  std::vector<Value> all;
  for (size_t i = 0; unit > 0 && i < count; ++i) all.insert(all.end(), items.begin(), items.end());
  return Value::sequence(std::move(all),
                         value.as_sequence().is_tuple() ? Flavour::tuple : Flavour::list);
}

bool repeats(const Value& value) {
  return value.is(Kind::string) ||
         (value.is(Kind::sequence) && value.as_sequence().flavour < Flavour::range);
}

int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == 0) fail("division by zero");
  if (b == -1) {
    if (a == std::numeric_limits<int64_t>::min()) fail_overflow();
    return -a;
  }
  const int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

int64_t floor_remainder(int64_t a, int64_t b) {
  if (b == 0) fail("modulo by zero");
  if (b == -1) return 0;
  const int64_t remainder = a % b;
  return (remainder != 0 && (remainder < 0) != (b < 0)) ? remainder + b : remainder;
}

int64_t integer_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) fail_overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) fail_overflow();
  }
  return result;
}

Value integer_result(BinaryOperator op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case BinaryOperator::add:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case BinaryOperator::subtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case BinaryOperator::multiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case BinaryOperator::floor_divide:
      result = floor_quotient(a, b);
      break;
    case BinaryOperator::modulo:
      result = floor_remainder(a, b);
      break;
    case BinaryOperator::divide:
      if (b == 0) fail("division by zero");
      return Value::real(static_cast<double>(a) / static_cast<double>(b));
    case BinaryOperator::power:
      if (b < 0) return Value::real(std::pow(static_cast<double>(a), static_cast<double>(b)));
      result = integer_power(a, b);
      break;
  }
  if (overflow) fail_overflow();
  return Value::integer(result);
}

Value real_result(BinaryOperator op, double a, double b) {
  const bool divides = op == BinaryOperator::divide || op == BinaryOperator::floor_divide ||
                       op == BinaryOperator::modulo;
  if (divides && b == 0.0) fail("division by zero");
  switch (op) {
    case BinaryOperator::add:
      return Value::real(a + b);
    case BinaryOperator::subtract:
      return Value::real(a - b);
    case BinaryOperator::multiply:
      return Value::real(a * b);
    case BinaryOperator::divide:
      return Value::real(a / b);
    case BinaryOperator::floor_divide:
      return Value::real(std::floor(a / b));
    case BinaryOperator::power:
      return Value::real(std::pow(a, b));
    case BinaryOperator::modulo: {
      const double remainder = std::fmod(a, b);
      return Value::real(remainder != 0.0 && (remainder < 0) != (b < 0) ? remainder + b
                                                                        : remainder);
    }
  }
  return {};
}

}  // namespace

bool equal(Budget& budget, const Value& a, const Value& b) {
  budget.work();
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral()) return a.to_integer() == b.to_integer();
    return a.to_real() == b.to_real();
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::undefined:
      return true;
    case Kind::string:
      budget.touch(std::min(a.as_string().size(), b.as_string().size()));
      return a.as_string() == b.as_string();
    case Kind::sequence: {
      const Sequence& left = a.as_sequence();
      const Sequence& right = b.as_sequence();
      if (left.flavour >= Flavour::generator) return &left == &right;
      return (left.flavour == right.flavour || (left.is_tuple() && right.is_tuple())) &&
             std::equal(left.items.begin(), left.items.end(), right.items.begin(),
                        right.items.end(),
                        [&](const Value& x, const Value& y) { return equal(budget, x, y); });
    }
    case Kind::dict:
      return equal_dicts(budget, a.as_dict(), b.as_dict());
    default:
      return a.same_as(b);
  }
}

int order(Budget& budget, const Value& a, const Value& b) {
  budget.work();
  if (a.is_number() && b.is_number()) {
    if (!a.is_integral() || !b.is_integral()) return sign(a.to_real() - b.to_real());
    const int64_t x = a.to_integer();
    const int64_t y = b.to_integer();
    return x < y ? -1 : x > y ? 1 : 0;
  }
  if (a.is(Kind::string) && b.is(Kind::string)) {
    budget.touch(std::min(a.as_string().size(), b.as_string().size()));
    return sign(a.as_string().compare(b.as_string()));
  }
  if (a.is(Kind::sequence) && b.is(Kind::sequence) &&
      a.as_sequence().is_tuple() == b.as_sequence().is_tuple() &&
      a.as_sequence().flavour < Flavour::range && b.as_sequence().flavour < Flavour::range) {
    const std::vector<Value>& left = a.as_sequence().items;
    const std::vector<Value>& right = b.as_sequence().items;
    for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      if (!equal(budget, left[i], right[i])) return order(budget, left[i], right[i]);
    }
    return left.size() < right.size() ? -1 : left.size() > right.size() ? 1 : 0;
  }
  fail_operands("<", a, b);
}

bool contains(Budget& budget, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::undefined:
      return false;
    case Kind::string:
      if (item.is(Kind::undefined)) fail(item.why_undefined());
      if (!item.is(Kind::string)) {
        fail("'in <string>' requires a string on its left, not ", item.type_name());
      }
      budget.touch(container.as_string().size());
      return find_text(container.as_string(), item.as_string()) != std::string::npos;
    case Kind::sequence: {
      const Sequence& sequence = container.as_sequence();
      const bool gives_once = sequence.flavour == Flavour::generator;
      for (size_t i = sequence.taken; i < sequence.items.size(); ++i) {
        if (gives_once) sequence.taken = i + 1;
        if (equal(budget, sequence.items[i], item)) return true;
      }
      return false;
    }
    case Kind::dict:
      for (const auto& [key, value] : container.as_dict().items) {
        if (equal(budget, key, item)) return true;
      }
      return false;
    default:
      fail("'in' does not work on ", container.type_name());
  }
}

bool compare(Budget& budget, Comparison op, const Value& a, const Value& b) {
  switch (op) {
    case Comparison::eq:
      return equal(budget, a, b);
    case Comparison::ne:
      return !equal(budget, a, b);
    case Comparison::lt:
      return order(budget, a, b) < 0;
    case Comparison::le:
      return order(budget, a, b) <= 0;
    case Comparison::gt:
      return order(budget, a, b) > 0;
    case Comparison::ge:
      return order(budget, a, b) >= 0;
    case Comparison::in:
      return contains(budget, b, a);
    case Comparison::not_in:
      return !contains(budget, b, a);
  }
  return false;
}

Value binary(Budget& budget, BinaryOperator op, const Value& a, const Value& b) {
  if (op == BinaryOperator::modulo && a.is(Kind::string)) {
    return make_text(budget, percent_format(budget, a.as_string(), b));
  }
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral())
      return integer_result(op, a.to_integer(), b.to_integer());
    return real_result(op, a.to_real(), b.to_real());
  }
  if (op == BinaryOperator::add) return add(budget, a, b);
  if (op == BinaryOperator::multiply) {
    if (repeats(a) && b.is_integral()) return repeat(budget, a, b.to_integer());
    if (repeats(b) && a.is_integral()) return repeat(budget, b, a.to_integer());
  }
  constexpr const char* symbols[] = {"+", "-", "*", "/", "//", "%", "**"};
  fail_operands(symbols[static_cast<size_t>(op)], a, b);
}

Value negated(const Value& value) {
  if (value.is(Kind::real)) return Value::real(-value.as_real());
  if (value.is(Kind::undefined)) fail(value.why_undefined());
  if (!value.is_integral()) fail("'-' does not work on ", value.type_name());
  return integer_result(BinaryOperator::subtract, 0, value.to_integer());
}

}  // namespace troupe::text::jinja
