// Tests: what stands after "is".
#include <unordered_map>

#include "text/jinja_operations.hpp"
#include "text/jinja_rendering.hpp"
#include "text/jinja_strings.hpp"

namespace troupe::text::jinja {

namespace {

template <Kind kind>
bool is_kind(Rendering&, const Value& value, const Arguments&) {
  return value.is(kind);
}

template <Comparison op>
bool compares(Rendering& r, const Value& value, const Arguments& arguments) {
  const Bound bound("the test", arguments, {"other"});
  return compare(r.budget(), op, value, bound.need(0));
}

bool is_iterable(Rendering&, const Value& value, const Arguments&) {
  return value.is(Kind::string) || value.is(Kind::sequence) || value.is(Kind::dict) ||
         value.is(Kind::undefined) || value.is(Kind::loop);
}

bool is_sequence(Rendering&, const Value& value, const Arguments&) {
  const bool indexed = value.is(Kind::sequence) && value.as_sequence().has_index();
  return indexed || value.is(Kind::string) || value.is(Kind::dict) || value.is(Kind::undefined);
}

bool is_callable(Rendering&, const Value& value, const Arguments&) {
  return value.is(Kind::builtin) || value.is(Kind::method) || value.is(Kind::macro) ||
         value.is(Kind::loop) || (value.is(Kind::cycler) && value.as_cycler().joiner) ||
         value.is(Kind::undefined);
}

int64_t remainder(Rendering& r, const Value& value, int64_t divisor) {
  const Value result = binary(r.budget(), BinaryOperator::modulo, value, Value::integer(divisor));
  return result.is_integral() ? result.to_integer() : (result.to_real() == 0.0 ? 0 : -1);
}

bool is_divisible(Rendering& r, const Value& value, const Arguments& arguments) {
  const Bound bound("divisibleby", arguments, {"num"});
  bound.need(0);
  return remainder(r, value, bound.integer(0, 1)) == 0;
}

bool is_same(Rendering&, const Value& value, const Arguments& arguments) {
  return value.same_as(Bound("sameas", arguments, {"other"}).need(0));
}

bool has_case(Rendering& r, const Value& value, bool (*test)(std::string_view)) {
  const std::string text = to_text(r.budget(), value);
  r.budget().work(text.size() / 4);
  return test(text);
}

template <bool tests>
bool is_known(Rendering&, const Value& value, const Arguments&) {
  if (!value.is(Kind::string)) return false;
  const std::string& name = value.as_string();
  return tests ? find_test(name) != nullptr : find_filter(name) != nullptr;
}

}  // namespace

TestFunction find_test(std::string_view name) {
  using R = Rendering&;
  using V = const Value&;
  using A = const Arguments&;
  static const std::unordered_map<std::string_view, TestFunction> table = {
      {"defined", [](R, V v, A) { return !v.is(Kind::undefined); }},
      {"undefined", is_kind<Kind::undefined>},
      {"none", is_kind<Kind::none>},
      {"boolean", is_kind<Kind::boolean>},
      {"true", [](R, V v, A) { return v.is(Kind::boolean) && v.as_boolean(); }},
      {"false", [](R, V v, A) { return v.is(Kind::boolean) && !v.as_boolean(); }},
      {"integer", is_kind<Kind::integer>},
      {"float", is_kind<Kind::real>},
      {"number", [](R, V v, A) { return v.is_number(); }},
      {"string", is_kind<Kind::string>},
      {"mapping", is_kind<Kind::dict>},
      {"sequence", is_sequence},
      {"iterable", is_iterable},
      {"callable", is_callable},
      {"sameas", is_same},
      {"escaped", [](R, V v, A) { return v.is(Kind::string) && v.text().safe; }},
      {"odd", [](R r, V v, A) { return remainder(r, v, 2) == 1; }},
      {"even", [](R r, V v, A) { return remainder(r, v, 2) == 0; }},
      {"divisibleby", is_divisible},
      {"lower", [](R r, V v, A) { return has_case(r, v, all_lower); }},
      {"upper", [](R r, V v, A) { return has_case(r, v, all_upper); }},
      {"filter", is_known<false>},
      {"test", is_known<true>},
      {"in", compares<Comparison::in>},
      {"==", compares<Comparison::eq>},
      {"eq", compares<Comparison::eq>},
      {"equalto", compares<Comparison::eq>},
      {"!=", compares<Comparison::ne>},
      {"ne", compares<Comparison::ne>},
      {"<", compares<Comparison::lt>},
      {"lt", compares<Comparison::lt>},
      {"lessthan", compares<Comparison::lt>},
      {"<=", compares<Comparison::le>},
      {"le", compares<Comparison::le>},
      {">", compares<Comparison::gt>},
      {"gt", compares<Comparison::gt>},
      {"greaterthan", compares<Comparison::gt>},
      {">=", compares<Comparison::ge>},
      {"ge", compares<Comparison::ge>},
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace troupe::text::jinja
