// Methods of dicts, lists and loops.
#include <algorithm>

#include "text/jinja_operations.hpp"

namespace troupe::text::jinja {

namespace {

constexpr std::string_view dict_methods[] = {"get", "items", "keys", "values", "copy"};
constexpr std::string_view list_methods[] = {"index", "count", "copy"};

Value dict_get(Budget& budget, const Dict& dict, const Arguments& arguments) {
  const Bound bound("get", arguments, {"key", "default"});
  for (const auto& [key, value] : dict.items) {
    if (equal(budget, key, bound.need(0))) return value;
  }
  return bound.has(1) ? bound.at(1) : Value::none();
}

Value dict_method(Budget& budget, const Value& self, const std::string& name,
                  const Arguments& arguments) {
  const Dict& dict = self.as_dict();
  if (name == "get") return dict_get(budget, dict, arguments);
  const Bound no_arguments(name, arguments, {});
  if (name == "copy") return self;
  std::vector<Value> items;
  for (const auto& [key, value] : dict.items) {
    if (name == "keys")
      items.push_back(key);
    else if (name == "values")
      items.push_back(value);
    else
      items.push_back(Value::sequence({key, value}, Flavour::tuple));
  }
  budget.allocate(items.size() * 3 * sizeof(Value));
  return Value::sequence(std::move(items), Flavour::view);
}

Value list_method(Budget& budget, const Value& self, const std::string& name,
                  const Arguments& arguments) {
  const std::vector<Value>& items = self.as_sequence().items;
  if (name == "copy") return self;
  const Bound bound(name, arguments, {"value"});
  const auto matches = [&](const Value& item) { return equal(budget, item, bound.need(0)); };
  if (name == "count") {
    return Value::integer(std::count_if(items.begin(), items.end(), matches));
  }
  const auto found = std::find_if(items.begin(), items.end(), matches);
  if (found == items.end()) fail(repr(budget, bound.need(0)), " is not in the list");
  return Value::integer(found - items.begin());
}

template <size_t n>
bool in(const std::string_view (&names)[n], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

bool has_dict_method(std::string_view name) {
  return in(dict_methods, name);
}
bool has_list_method(std::string_view name) {
  return in(list_methods, name);
}

Value call_method(Budget& budget, const Value& self, const std::string& name,
                  const Arguments& arguments) {
  budget.work();
  switch (self.kind()) {
    case Kind::string:
      return call_string_method(budget, self.as_string(), name, arguments);
    case Kind::dict:
      return dict_method(budget, self, name, arguments);
    case Kind::sequence:
      return list_method(budget, self, name, arguments);
    case Kind::loop:
      if (arguments.positional.empty()) fail("loop.cycle needs at least one argument");
      return arguments.positional[self.as_loop().index % arguments.positional.size()];
    default:
      fail("'", self.type_name(), "' has no method '", name, "'");
  }
}

}  // namespace troupe::text::jinja
