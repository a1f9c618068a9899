// The attribute= of filters: "a.b.0" walks into a value.
#pragma once

#include <algorithm>
#include <charconv>
#include <string>

#include "text/jinja_operations.hpp"

namespace troupe::text::jinja {

/// The value at `path` (a string or an integer) below `value`.
inline Value at_path(Budget& budget, Value value, const Value& path) {
  if (!path.is(Kind::string)) return get_item(budget, value, path);
  const std::string& text = path.as_string();
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('.', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    int64_t index = 0;
    const auto parsed = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool number = parsed.ec == std::errc() && parsed.ptr == part.data() + part.size();
    value = get_item(budget, value, number ? Value::integer(index) : Value::string(part));
    begin = end + 1;
  }
  return value;
}

/// For comparisons that ignore case: strings in lower case, others as they are.
Value folded(Budget& budget, const Value& value);

/// Stable, ascending or descending; fails if two items cannot be ordered.
template <class Item, class Key>
void sort_by(Budget& budget, std::vector<Item>& items, bool descending, const Key& key) {
  std::vector<std::pair<Value, size_t>> keys;
  for (size_t i = 0; i < items.size(); ++i) keys.emplace_back(key(items[i]), i);
  budget.allocate(keys.size() * sizeof(keys[0]));
  std::stable_sort(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
    return descending ? order(budget, b.first, a.first) < 0 : order(budget, a.first, b.first) < 0;
  });
  std::vector<Item> sorted;
  for (const auto& [unused, i] : keys) sorted.push_back(items[i]);
  items = std::move(sorted);
}

}  // namespace troupe::text::jinja
