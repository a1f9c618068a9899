// map, select, reject, selectattr, rejectattr.
#include <unordered_map>

#include "text/jinja_attribute_path.hpp"
#include "text/jinja_rendering.hpp"

namespace troupe::text::jinja {

namespace {

/// Arguments without the first `count` positional ones.
Arguments rest_of(const Arguments& arguments, size_t count) {
  Arguments rest;
  rest.positional.assign(arguments.positional.begin() + static_cast<ptrdiff_t>(count),
                         arguments.positional.end());
  rest.named = arguments.named;
  return rest;
}

std::string name_argument(const Arguments& arguments, size_t i, const char* what) {
  if (i >= arguments.positional.size() || !arguments.positional[i].is(Kind::string)) {
    fail("the ", what, " must be given as a string");
  }
  return arguments.positional[i].as_string();
}

/// As in Jinja, these filters take whatever is false, none too, for an empty sequence.
std::vector<Value> items_of(Rendering& r, const Value& input) {
  return input.truth() ? iterate(r.budget(), input) : std::vector<Value>();
}

Value map_attribute(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("map", arguments, {"attribute", "default"});
  std::vector<Value> values;
  for (const Value& item : items_of(r, input)) {
    Value value = at_path(r.budget(), item, bound.need(0));
    if (value.is(Kind::undefined) && bound.has(1)) value = bound.at(1);
    values.push_back(std::move(value));
  }
  return Value::sequence(std::move(values), Flavour::generator);
}

Value map(Rendering& r, const Value& input, const Arguments& arguments) {
  if (arguments.positional.empty()) return map_attribute(r, input, arguments);
  const std::string name = name_argument(arguments, 0, "filter of map");
  const Arguments rest = rest_of(arguments, 1);
  std::vector<Value> values;
  for (const Value& item : items_of(r, input)) values.push_back(r.filter(name, item, rest));
  return Value::sequence(std::move(values), Flavour::generator);
}

Value select(Rendering& r, const Value& input, const Arguments& arguments, bool by_attribute,
             bool wanted) {
  const size_t skip = by_attribute ? 1 : 0;
  if (by_attribute && arguments.positional.empty()) fail("the attribute to select by is missing");
  const bool has_test = arguments.positional.size() > skip;
  const std::string name = has_test ? name_argument(arguments, skip, "test of select") : "";
  const Arguments rest = has_test ? rest_of(arguments, skip + 1) : Arguments{};
  std::vector<Value> kept;
  for (const Value& item : items_of(r, input)) {
    const Value value = by_attribute ? at_path(r.budget(), item, arguments.positional[0]) : item;
    const bool passes = has_test ? r.test(name, value, rest) : value.truth();
    if (passes == wanted) kept.push_back(item);
  }
  return Value::sequence(std::move(kept), Flavour::generator);
}

}  // namespace

FilterFunction find_selection_filter(std::string_view name) {
  using R = Rendering&;
  using V = const Value&;
  using A = const Arguments&;
  static const std::unordered_map<std::string_view, FilterFunction> table = {
      {"map", map},
      {"select", [](R r, V v, A a) { return select(r, v, a, false, true); }},
      {"reject", [](R r, V v, A a) { return select(r, v, a, false, false); }},
      {"selectattr", [](R r, V v, A a) { return select(r, v, a, true, true); }},
      {"rejectattr", [](R r, V v, A a) { return select(r, v, a, true, false); }},
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace troupe::text::jinja
