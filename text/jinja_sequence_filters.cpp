// Filters over sequences and mappings.
#include <cmath>
#include <unordered_map>

#include "text/jinja_attribute_path.hpp"
#include "text/jinja_operations.hpp"
#include "text/jinja_rendering.hpp"
#include "text/jinja_strings.hpp"

namespace troupe::text::jinja {

Value folded(Budget& budget, const Value& value) {
  if (!value.is(Kind::string)) return value;
  budget.work(value.as_string().size() / 8);
  return make_text(budget, lower(value.as_string()));
}

namespace {

/// What a filter compares: the item, or what `attribute` finds in it; folded unless case matters.
Value sort_key(Budget& budget, const Value& item, const Value& attribute, bool case_sensitive) {
  const bool whole = attribute.is(Kind::undefined) || attribute.is(Kind::none);
  const Value value = whole ? item : at_path(budget, item, attribute);
  return case_sensitive ? value : folded(budget, value);
}

Value join(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("join", arguments, {"d", "attribute"});
  const std::string separator = to_text(r.budget(), bound.at(0));
  std::string out;
  bool first = true;
  for (const Value& item : iterate(r.budget(), input)) {
    if (!std::exchange(first, false)) out += separator;
    out += to_text(r.budget(), bound.has(1) ? at_path(r.budget(), item, bound.at(1)) : item);
    if (out.size() > limits::prompt_bytes_max) r.budget().allocate(out.size());
  }
  return make_text(r.budget(), std::move(out));
}

Value length_filter(Rendering& r, const Value& input, const Arguments&) {
  return Value::integer(length(r.budget(), input));
}

Value list(Rendering& r, const Value& input, const Arguments&) {
  return Value::sequence(iterate(r.budget(), input));
}

/// The first item alone is taken from a generator.
std::optional<Value> first_given(const Value& input) {
  if (!input.is(Kind::sequence)) return std::nullopt;
  const Sequence& sequence = input.as_sequence();
  if (sequence.taken == sequence.items.size()) return std::nullopt;
  const size_t at = sequence.taken;
  if (sequence.flavour == Flavour::generator) ++sequence.taken;
  return sequence.items[at];
}

Value end_item(Rendering& r, const Value& input, bool last) {
  if (std::optional<Value> first = last ? std::nullopt : first_given(input)) return *first;
  const std::vector<Value> items = iterate(r.budget(), input);
  if (items.empty()) return Value::undefined("an empty sequence has no first or last item");
  return last ? items.back() : items.front();
}

Value reverse(Rendering& r, const Value& input, const Arguments&) {
  if (input.is(Kind::string)) {
    return get_slice(r.budget(), input, Value::none(), Value::none(), Value::integer(-1));
  }
  std::vector<Value> items = iterate(r.budget(), input);
  std::reverse(items.begin(), items.end());
  return Value::sequence(std::move(items), Flavour::generator);
}

Value items_filter(Rendering& r, const Value& input, const Arguments&) {
  std::vector<Value> items;
  if (input.is(Kind::undefined)) return Value::sequence({}, Flavour::generator);
  if (!input.is(Kind::dict)) fail("Can only get item pairs from a mapping.");
  for (const auto& [key, value] : input.as_dict().items) {
    items.push_back(Value::sequence({key, value}, Flavour::tuple));
  }
  r.budget().allocate(items.size() * 3 * sizeof(Value));
  return Value::sequence(std::move(items), Flavour::generator);
}

Value dict_sort(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  if (input.is(Kind::undefined)) fail(input.why_undefined());
  if (!input.is(Kind::dict)) fail("dictsort needs a mapping, not ", input.type_name());
  const std::string by = bound.text(1, "key");
  if (by != "key" && by != "value") fail("You can only sort by either \"key\" or \"value\"");
  const bool by_value = by == "value";
  Pairs pairs = input.as_dict().items;
  sort_by(r.budget(), pairs, bound.truth(2, false), [&](const auto& pair) {
    return sort_key(r.budget(), by_value ? pair.second : pair.first, Value(),
                    bound.truth(0, false));
  });
  std::vector<Value> items;
  for (auto& [key, value] : pairs) {
    items.push_back(Value::sequence({std::move(key), std::move(value)}, Flavour::tuple));
  }
  r.budget().allocate(items.size() * 3 * sizeof(Value));
  return Value::sequence(std::move(items));
}

/// "a,b": several attributes, the first one first; an empty list for none.
std::vector<Value> attribute_list(Budget& budget, const Value& attribute) {
  if (!attribute.is(Kind::string)) return {attribute};
  std::vector<Value> all;
  for (std::string& path : split(attribute.as_string(), ",", -1, false)) {
    all.push_back(make_text(budget, std::move(path)));
  }
  return all;
}

Value sort(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  std::vector<Value> items = iterate(r.budget(), input);
  const std::vector<Value> attributes = attribute_list(r.budget(), bound.at(2));
  sort_by(r.budget(), items, bound.truth(0, false), [&](const Value& item) {
    std::vector<Value> keys;
    for (const Value& attribute : attributes) {
      keys.push_back(sort_key(r.budget(), item, attribute, bound.truth(1, false)));
    }
    return keys.size() == 1 ? keys[0] : Value::sequence(std::move(keys));
  });
  return Value::sequence(std::move(items));
}

Value unique(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("unique", arguments, {"case_sensitive", "attribute"});
  std::vector<Value> kept;
  std::vector<Value> keys;
  for (const Value& item : iterate(r.budget(), input)) {
    Value key = sort_key(r.budget(), item, bound.at(1), bound.truth(0, false));
    const auto same = [&](const Value& old) { return equal(r.budget(), old, key); };
    if (std::any_of(keys.begin(), keys.end(), same)) continue;
    keys.push_back(std::move(key));
    kept.push_back(item);
  }
  return Value::sequence(std::move(kept), Flavour::generator);
}

Value extreme(Rendering& r, const Value& input, const Arguments& arguments, int wanted) {
  const Bound bound("min or max", arguments, {"case_sensitive", "attribute"});
  const auto key = [&](const Value& item) {
    return sort_key(r.budget(), item, bound.at(1), bound.truth(0, false));
  };
  const std::vector<Value> items = iterate(r.budget(), input);
  if (items.empty()) return Value::undefined("an empty sequence has no smallest or largest item");
  const Value* best = &items[0];
  for (const Value& item : items) {
    if (order(r.budget(), key(item), key(*best)) == wanted) best = &item;
  }
  return *best;
}

Value sum(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("sum", arguments, {"attribute", "start"});
  Value total = bound.has(1) ? bound.at(1) : Value::integer(0);
  const bool whole = !bound.has(0) || bound.at(0).is(Kind::none);
  for (const Value& item : iterate(r.budget(), input)) {
    const Value one = whole ? item : at_path(r.budget(), item, bound.at(0));
    total = binary(r.budget(), BinaryOperator::add, total, one);
  }
  return total;
}

Value batch(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("batch", arguments, {"linecount", "fill_with"});
  const int64_t size = bound.integer(0, 0);
  if (size < 1 || size > limits::template_range_max) fail("batch needs a size of at least 1");
  std::vector<Value> batches;
  std::vector<Value> current;
  const auto close = [&] { batches.push_back(Value::sequence(std::exchange(current, {}))); };
  for (const Value& item : iterate(r.budget(), input)) {
    current.push_back(item);
    if (static_cast<int64_t>(current.size()) == size) close();
  }
  if (!current.empty()) {
    if (bound.has(1) && !bound.at(1).is(Kind::none)) {
      r.budget().allocate(static_cast<size_t>(size) * sizeof(Value));
      current.resize(static_cast<size_t>(size), bound.at(1));
    }
    close();
  }
  return Value::sequence(std::move(batches), Flavour::generator);
}

Value slice(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("slice", arguments, {"slices", "fill_with"});
  bound.need(0);
  const int64_t count = bound.integer(0, 1);
  if (count < 1 || count > limits::template_range_max) {
    fail("slice needs 1 to ", limits::template_range_max, " slices");
  }
  r.budget().allocate(static_cast<size_t>(count) * (sizeof(Value) + sizeof(Sequence)));
  const std::vector<Value> items = iterate(r.budget(), input);
  const size_t slices = static_cast<size_t>(count);
  const size_t longer = items.size() % slices;
  std::vector<Value> all;
  for (size_t i = 0, at = 0; i < slices; ++i) {
    const size_t size = items.size() / slices + (i < longer ? 1 : 0);
    const auto begin = items.begin() + static_cast<ptrdiff_t>(at);
    std::vector<Value> part(begin, begin + static_cast<ptrdiff_t>(size));
    if (bound.has(1) && !bound.at(1).is(Kind::none) && i >= longer) part.push_back(bound.at(1));
    all.push_back(Value::sequence(std::move(part)));
    at += size;
  }
  return Value::sequence(std::move(all), Flavour::generator);
}

Value group_by(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("groupby", arguments, {"attribute", "default", "case_sensitive"});
  std::vector<Value> items = iterate(r.budget(), input);
  const auto key = [&](const Value& item) {
    const Value found = at_path(r.budget(), item, bound.need(0));
    return found.is(Kind::undefined) && bound.has(1) ? bound.at(1) : found;
  };
  const auto folded_key = [&](const Value& item) {
    return bound.truth(2, false) ? key(item) : folded(r.budget(), key(item));
  };
  sort_by(r.budget(), items, false, folded_key);
  std::vector<Value> groups;
  for (size_t begin = 0; begin < items.size();) {
    const Value first = folded_key(items[begin]);
    std::vector<Value> group;
    size_t end = begin;
    while (end < items.size() && equal(r.budget(), folded_key(items[end]), first)) {
      group.push_back(items[end++]);
    }
    groups.push_back(
        Value::sequence({key(items[begin]), Value::sequence(std::move(group))}, Flavour::group));
    begin = end;
  }
  return Value::sequence(std::move(groups));
}

}  // namespace

FilterFunction find_sequence_filter(std::string_view name) {
  using R = Rendering&;
  using V = const Value&;
  using A = const Arguments&;
  static const std::unordered_map<std::string_view, FilterFunction> table = {
      {"join", join},
      {"length", length_filter},
      {"count", length_filter},
      {"list", list},
      {"first", [](R r, V v, A) { return end_item(r, v, false); }},
      {"last", [](R r, V v, A) { return end_item(r, v, true); }},
      {"reverse", reverse},
      {"items", items_filter},
      {"dictsort", dict_sort},
      {"sort", sort},
      {"unique", unique},
      {"min", [](R r, V v, A a) { return extreme(r, v, a, -1); }},
      {"max", [](R r, V v, A a) { return extreme(r, v, a, 1); }},
      {"sum", sum},
      {"batch", batch},
      {"slice", slice},
      {"groupby", group_by},
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace troupe::text::jinja
