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
  const Flavour flavour = name == "keys"     ? Flavour::keys
                          : name == "values" ? Flavour::values
                                             : Flavour::items;
  for (const auto& [key, value] : dict.items) {
    if (name == "keys")
      items.push_back(key);
    else if (name == "values")
      items.push_back(value);
    else
      items.push_back(Value::sequence({key, value}, Flavour::tuple));
  }
  budget.allocate(items.size() * 3 * sizeof(Value));
  return Value::sequence(std::move(items), flavour);
}

Value list_method(Budget& budget, const Value& self, const std::string& name,
                  const Arguments& arguments) {
  const std::vector<Value>& items = self.as_sequence().items;
  if (name == "copy") return self;
  const Bound bound(name, arguments, {"value", "start", "stop"});
  const auto matches = [&](const Value& item) { return equal(budget, item, bound.need(0)); };
  if (name == "count") {
    return Value::integer(std::count_if(items.begin(), items.end(), matches));
  }
  const auto place = [&](size_t i, int64_t fallback) {
    const int64_t count = static_cast<int64_t>(items.size());
    const int64_t at = bound.integer(i, fallback);
    return std::clamp<int64_t>(at < 0 ? at + count : at, 0, count);
  };
  const auto end = items.begin() + std::max(place(2, INT64_MAX), place(1, 0));
  const auto found = std::find_if(items.begin() + place(1, 0), end, matches);
  if (found == end) fail(repr(budget, bound.need(0)), " is not in list");
  return Value::integer(found - items.begin());
}

/// loop.changed(...): whether the arguments differ from those of the call before.
Value loop_changed(Budget& budget, const LoopState& loop, const Arguments& arguments) {
  if (loop.over) fail("loop.changed is asked after the loop's end");
  const std::vector<Value>& now = arguments.positional;
  const bool same = loop.was_asked &&
                    std::equal(now.begin(), now.end(), loop.asked.begin(), loop.asked.end(),
                               [&](const Value& a, const Value& b) { return equal(budget, a, b); });
  budget.allocate(now.size() * sizeof(Value));
  loop.asked = now;
  loop.was_asked = true;
  return Value::boolean(!same);
}

Value cycler_method(const Cycler& cycler, const std::string& name, const Arguments& arguments) {
  const Bound bound(name, arguments, {});
  if (name == "reset") {
    cycler.at = 0;
    return Value::none();
  }
  const Value& item = cycler.items[cycler.at];
  if (!cycler.joiner || cycler.at + 1 < cycler.items.size()) {
    cycler.at = (cycler.at + 1) % cycler.items.size();
  }
  return item;
}

template <size_t n>
bool in(const std::string_view (&names)[n], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

bool has_dict_method(std::string_view name) {
  return in(dict_methods, name);
}
bool has_sequence_method(Flavour flavour, std::string_view name) {
  const bool has_methods = flavour <= Flavour::range;
  return has_methods && in(list_methods, name) && (flavour == Flavour::list || name != "copy");
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
    case Kind::cycler:
      return cycler_method(self.as_cycler(), name, arguments);
    case Kind::loop:
      if (name == "changed") return loop_changed(budget, self.as_loop(), arguments);
      if (arguments.positional.empty()) fail("loop.cycle needs at least one argument");
      return arguments.positional[self.as_loop().index % arguments.positional.size()];
    default:
      fail("'", self.type_name(), "' has no method '", name, "'");
  }
}

}  // namespace troupe::text::jinja
