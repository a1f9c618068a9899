// Attributes, items, slices, iteration.
#include <algorithm>
#include <cstring>

#include "text/jinja_operations.hpp"
#include "text/jinja_rendering.hpp"
#include "text/utf8.hpp"

namespace troupe::text::jinja {

namespace {

/// What the sandbox forbids: methods that change their object.
bool changes_object(Kind kind, std::string_view name) {
  constexpr std::string_view list[] = {"append", "extend",  "insert", "pop",
                                       "remove", "reverse", "sort",   "clear"};
  constexpr std::string_view dict[] = {"pop", "popitem", "update", "clear", "setdefault"};
  const auto in = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  return kind == Kind::dict ? in(dict) : kind == Kind::sequence && in(list);
}

std::string object_name(const Value& value) {
  return value.is(Kind::none) ? "None" : concat(value.type_name(), " object");
}

Value missing_attribute(const Value& value, const std::string& name) {
  return Value::undefined(concat("'", object_name(value), "' has no attribute '", name, "'"));
}

Value loop_attribute(const LoopState& loop, const Value& value, const std::string& name) {
  const int64_t index = static_cast<int64_t>(loop.index);
  const int64_t count = static_cast<int64_t>(loop.items.size());
  if (name == "index") return Value::integer(index + 1);
  if (name == "index0") return Value::integer(index);
  if (name == "revindex") return Value::integer(count - index);
  if (name == "revindex0") return Value::integer(count - index - 1);
  if (name == "first") return Value::boolean(index == 0);
  if (name == "last") return Value::boolean(index + 1 == count);
  if (name == "length") return Value::integer(count);
  if (name == "depth") return Value::integer(loop.level + 1);
  if (name == "depth0") return Value::integer(loop.level);
  if (name == "cycle" || name == "changed") return Value::method(value, name);
  if (name == "previtem") {
    return index > 0 ? loop.items[loop.index - 1] : Value::undefined("there is no previous item");
  }
  if (name == "nextitem") {
    return index + 1 < count ? loop.items[loop.index + 1]
                             : Value::undefined("there is no next item");
  }
  return missing_attribute(value, name);
}

std::optional<Value> cycler_attribute(const Cycler& cycler, const Value& value,
                                      const std::string& name) {
  if (cycler.joiner) return std::nullopt;
  if (name == "current") return cycler.items[cycler.at];
  if (name == "pos") return Value::integer(static_cast<int64_t>(cycler.at));
  if (name == "items") return Value::sequence(cycler.items, Flavour::tuple);
  if (name == "next" || name == "reset") return Value::method(value, name);
  return std::nullopt;
}

/// The names of a groupby's pair.
std::optional<Value> sequence_attribute(const Sequence& sequence, const std::string& name) {
  if (sequence.flavour == Flavour::group) {
    if (name == "grouper") return sequence.items[0];
    if (name == "list") return sequence.items[1];
  }
  return std::nullopt;
}

/// The value's own attribute or method; empty if it has none of that name.
std::optional<Value> own_attribute(Budget& budget, const Value& value, const std::string& name) {
  if (changes_object(value.kind(), name) || name.starts_with("__")) {
    return Value::undefined(
        concat("access to attribute '", name, "' of '", value.type_name(), "' object is unsafe."));
  }
  const bool method =
      (value.is(Kind::string) && has_string_method(name)) ||
      (value.is(Kind::dict) && has_dict_method(name)) ||
      (value.is(Kind::sequence) && has_sequence_method(value.as_sequence().flavour, name));
  if (method) return Value::method(value, name);
  if (value.is(Kind::sequence)) return sequence_attribute(value.as_sequence(), name);
  if (value.is(Kind::macro)) return macro_attribute(budget, *value.as_macro(), value, name);
  if (value.is(Kind::cycler)) return cycler_attribute(value.as_cycler(), value, name);
  if (value.is(Kind::loop)) return loop_attribute(value.as_loop(), value, name);
  if (value.is(Kind::name_space)) {
    for (const auto& [key, variable] : value.as_name_space()->variables) {
      if (key == name) return variable;
    }
  }
  return std::nullopt;
}

const Value* find_key(Budget& budget, const Dict& dict, const Value& key) {
  for (const auto& [name, value] : dict.items) {
    if (equal(budget, name, key)) return &value;
  }
  return nullptr;
}

/// Start offsets of the code points, and the end.
std::vector<size_t> character_offsets(Budget& budget, std::string_view text) {
  budget.work(text.size() / 8 + 1);
  std::vector<size_t> offsets;
  for (size_t at = 0; at < text.size(); at += utf8_step(text, at).bytes) offsets.push_back(at);
  offsets.push_back(text.size());
  return offsets;
}

std::optional<size_t> resolve_index(int64_t index, size_t count) {
  const int64_t size = static_cast<int64_t>(count);
  if (index < 0) index += size;
  if (index < 0 || index >= size) return std::nullopt;
  return static_cast<size_t>(index);
}

Value item_of_sequence(Budget& budget, const Value& value, int64_t index) {
  if (value.is(Kind::string)) {
    const std::string& text = value.as_string();
    const std::vector<size_t> offsets = character_offsets(budget, text);
    const std::optional<size_t> i = resolve_index(index, offsets.size() - 1);
    if (i) return make_text(budget, text.substr(offsets[*i], offsets[*i + 1] - offsets[*i]));
  } else {
    const std::vector<Value>& items = value.as_sequence().items;
    const std::optional<size_t> i = resolve_index(index, items.size());
    if (i) return items[*i];
  }
  return Value::undefined(concat(object_name(value), " has no element ", index));
}

/// Indices that value[start:stop:step] takes of `count` items.
std::vector<size_t> slice_indices(int64_t count, const Value& start, const Value& stop,
                                  const Value& step) {
  const auto number = [](const Value& value, int64_t fallback) {
    if (value.is(Kind::none)) return fallback;
    if (!value.is_integral()) fail("slice indices must be integers, not ", value.type_name());
    return value.to_integer();
  };
  const int64_t by = number(step, 1);
  if (by == 0) fail("slice step cannot be zero");
  const int64_t low = by < 0 ? -1 : 0;
  const int64_t high = by < 0 ? count - 1 : count;
  const auto clamp = [&](int64_t i) { return std::clamp(i < 0 ? i + count : i, low, high); };
  const int64_t from = start.is(Kind::none) ? (by < 0 ? high : low) : clamp(number(start, 0));
  const int64_t to = stop.is(Kind::none) ? (by < 0 ? low : high) : clamp(number(stop, 0));
  std::vector<size_t> indices;
  if (by > 0) {
    for (int64_t i = from; i < to; i = by >= to - i ? to : i + by) {
      indices.push_back(static_cast<size_t>(i));
    }
  } else {
    for (int64_t i = from; i > to; i = by <= to - i ? to : i + by) {
      indices.push_back(static_cast<size_t>(i));
    }
  }
  return indices;
}

}  // namespace

size_t find_text(std::string_view text, std::string_view needle, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (needle.empty()) return from;
  if (needle.size() > text.size() - from) return std::string_view::npos;
  const void* found = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

Value make_text(Budget& budget, std::string text) {
  budget.allocate(text.size());
  return Value::string(std::move(text));
}

void set_key(Budget& budget, Pairs& pairs, const Value& key, Value value) {
  const bool hashable = key.is_number() || key.is(Kind::string) || key.is(Kind::none) ||
                        (key.is(Kind::sequence) && key.as_sequence().is_tuple());
  if (!hashable) fail("a ", key.type_name(), " cannot be the key of a dict");
  budget.allocate(sizeof(Pairs::value_type));
  for (auto& [name, old] : pairs) {
    if (!equal(budget, name, key)) continue;
    old = std::move(value);
    return;
  }
  pairs.emplace_back(key, std::move(value));
}

Value get_attribute(Budget& budget, const Value& value, const std::string& name) {
  budget.work();
  if (value.is(Kind::undefined)) fail(value.why_undefined());
  if (std::optional<Value> own = own_attribute(budget, value, name)) return *std::move(own);
  if (value.is(Kind::dict)) {
    budget.work(value.as_dict().items.size() / 8);
    if (const Value* found = value.find(name)) return *found;
  }
  return missing_attribute(value, name);
}

Value attribute_only(Budget& budget, const Value& value, const std::string& name) {
  budget.work();
  if (value.is(Kind::undefined)) fail(value.why_undefined());
  if (std::optional<Value> own = own_attribute(budget, value, name)) return *std::move(own);
  return missing_attribute(value, name);
}

Value get_item(Budget& budget, const Value& value, const Value& key) {
  budget.work();
  if (value.is(Kind::undefined)) fail(value.why_undefined());
  if (value.is(Kind::dict)) {
    if (const Value* found = find_key(budget, value.as_dict(), key)) return *found;
  }
  const bool indexed =
      value.is(Kind::string) || (value.is(Kind::sequence) && value.as_sequence().has_index());
  if (key.is_integral() && indexed) {
    return item_of_sequence(budget, value, key.to_integer());
  }
  if (key.is(Kind::string)) {
    const std::string& name = key.as_string();
    if (std::optional<Value> own = own_attribute(budget, value, name)) return *std::move(own);
    return missing_attribute(value, name);
  }
  return Value::undefined(concat(object_name(value), " has no element ", repr(budget, key)));
}

Value get_slice(Budget& budget, const Value& value, const Value& start, const Value& stop,
                const Value& step) {
  if (value.is(Kind::undefined)) fail(value.why_undefined());
  if (value.is(Kind::string)) {
    const std::string& text = value.as_string();
    const std::vector<size_t> offsets = character_offsets(budget, text);
    std::string out;
    for (const size_t i :
         slice_indices(static_cast<int64_t>(offsets.size()) - 1, start, stop, step)) {
      out.append(text, offsets[i], offsets[i + 1] - offsets[i]);
    }
    return make_text(budget, std::move(out));
  }
  if (!value.is(Kind::sequence) || !value.as_sequence().has_index()) {
    fail("a ", value.type_name(), " cannot be sliced");
  }
  const std::vector<Value>& items = value.as_sequence().items;
  std::vector<Value> out;
  for (const size_t i : slice_indices(static_cast<int64_t>(items.size()), start, stop, step)) {
    out.push_back(items[i]);
  }
  budget.allocate(out.size() * sizeof(Value));
  return Value::sequence(std::move(out), value.as_sequence().flavour);
}

std::vector<Value> iterate(Budget& budget, const Value& value) {
  std::vector<Value> items;
  switch (value.kind()) {
    case Kind::undefined:
      return items;
    case Kind::sequence: {
      const Sequence& sequence = value.as_sequence();
      items.assign(sequence.items.begin() + static_cast<ptrdiff_t>(sequence.taken),
                   sequence.items.end());
      if (sequence.flavour == Flavour::generator) sequence.taken = sequence.items.size();
      break;
    }
    case Kind::dict:
      for (const auto& [key, unused] : value.as_dict().items) items.push_back(key);
      break;
    case Kind::string: {
      const std::string_view text = value.as_string();
      // Charged before the characters exist: each becomes a value of its own.
      budget.allocate(text.size() * sizeof(String));
      for (size_t at = 0; at < text.size();) {
        const size_t bytes = utf8_step(text, at).bytes;
        items.push_back(Value::string(std::string(text.substr(at, bytes))));
        at += bytes;
      }
      break;
    }
    default:
      fail("'", value.type_name(), "' object is not iterable");
  }
  budget.allocate(items.size() * sizeof(Value));
  return items;
}

int64_t length(Budget& budget, const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
      return 0;
    case Kind::string:
      budget.touch(value.as_string().size());
      return static_cast<int64_t>(utf8_length(value.as_string()));
    case Kind::sequence:
      if (value.as_sequence().flavour == Flavour::generator) break;
      return static_cast<int64_t>(value.as_sequence().items.size());
    case Kind::dict:
      return static_cast<int64_t>(value.as_dict().items.size());
    default:
      break;
  }
  fail("object of type '", value.type_name(), "' has no len()");
}

}  // namespace troupe::text::jinja
