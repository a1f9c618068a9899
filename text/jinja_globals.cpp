// Functions that every template has.
#include <array>
#include <ctime>

#include "text/jinja_operations.hpp"
#include "text/jinja_rendering.hpp"
#include "text/utf8.hpp"

namespace troupe::text::jinja {

namespace {

Value range(Rendering& r, const Arguments& arguments) {
  const size_t count = arguments.positional.size();
  if (!arguments.named.empty()) fail("range takes no keyword arguments");
  const Bound bound("range", arguments, {"start", "stop", "step"});
  bound.need(0);
  const int64_t start = count == 1 ? 0 : bound.integer(0, 0);
  const int64_t stop = count == 1 ? bound.integer(0, 0) : bound.integer(1, 0);
  const int64_t step = bound.integer(2, 1);
  if (step == 0) fail("the step of range is 0");
  std::vector<Value> items;
  for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (static_cast<int64_t>(items.size()) >= limits::template_range_max) {
      fail("a range has more than ", limits::template_range_max, " numbers");
    }
    items.push_back(Value::integer(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  r.budget().allocate(items.size() * sizeof(Value));
  return Value::sequence(std::move(items), Flavour::range);
}

Value make_namespace(Rendering& r, const Arguments& arguments) {
  std::vector<std::pair<std::string, Value>> variables;
  for (const Value& initial : arguments.positional) {
    if (!initial.is(Kind::dict)) fail("namespace takes a mapping or named arguments");
    for (const auto& [key, value] : initial.as_dict().items) {
      variables.emplace_back(to_text(r.budget(), key), value);
    }
  }
  for (const auto& [name, value] : arguments.named) variables.emplace_back(name, value);
  return r.make_name_space(std::move(variables));
}

Value make_dict(Rendering& r, const Arguments& arguments) {
  Pairs pairs;
  for (const Value& initial : arguments.positional) {
    if (initial.is(Kind::dict)) {
      for (const auto& [key, value] : initial.as_dict().items) {
        set_key(r.budget(), pairs, key, value);
      }
      continue;
    }
    for (const Value& pair : iterate(r.budget(), initial)) {
      const std::vector<Value> two = iterate(r.budget(), pair);
      if (two.size() != 2) fail("dict needs pairs");
      set_key(r.budget(), pairs, two[0], two[1]);
    }
  }
  for (const auto& [name, value] : arguments.named) {
    set_key(r.budget(), pairs, Value::string(name), value);
  }
  return Value::dict(std::move(pairs));
}

Value make_cycler(Rendering& r, const Arguments& arguments) {
  if (!arguments.named.empty()) fail("cycler takes no keyword arguments");
  if (arguments.positional.empty()) fail("cycler: at least one item has to be provided");
  r.budget().allocate(arguments.positional.size() * sizeof(Value));
  return Value::cycler(arguments.positional, false);
}

Value make_joiner(Rendering& r, const Arguments& arguments) {
  const Bound bound("joiner", arguments, {"sep"});
  const Value separator = bound.has(0) ? bound.at(0) : Value::string(", ");
  r.budget().allocate(2 * sizeof(Value));
  return Value::cycler({Value::string(""), separator}, true);
}

Value lipsum(Rendering&, const Arguments&) {
  fail("'lipsum' is not supported: a prompt depends on nothing but its input");
}

Value raise_exception(Rendering& r, const Arguments& arguments) {
  const Bound bound("raise_exception", arguments, {"message"});
  throw Failure{Code::invalid_argument, to_text(r.budget(), bound.need(0)), 0};
}

Value strftime_now(Rendering& r, const Arguments& arguments) {
  const Bound bound("strftime_now", arguments, {"format"});
  const std::string format = bound.text(0, {});
  if (format.size() > 256) fail("the format of strftime_now has more than 256 bytes");
  const std::time_t now = static_cast<std::time_t>(r.now_s());
  std::tm parts{};
  if (gmtime_r(&now, &parts) == nullptr) fail("the time is out of range");
  std::array<char, 4096> buffer{};
  // The leading character tells an empty result from one that did not fit.
  const size_t size = std::strftime(buffer.data(), buffer.size(), ("x" + format).c_str(), &parts);
  if (size == 0) fail("the result of strftime_now is too long");
  return make_text(r.budget(), replace_invalid_utf8({buffer.data() + 1, size - 1}));
}

constexpr std::array builtins = {
    Builtin{"range", range},
    Builtin{"namespace", make_namespace},
    Builtin{"dict", make_dict},
    Builtin{"cycler", make_cycler},
    Builtin{"joiner", make_joiner},
    Builtin{"lipsum", lipsum},
    Builtin{"raise_exception", raise_exception},
    Builtin{"strftime_now", strftime_now},
};

}  // namespace

const Builtin* find_global(std::string_view name) {
  for (const Builtin& builtin : builtins) {
    if (builtin.name == name) return &builtin;
  }
  return nullptr;
}

}  // namespace troupe::text::jinja
