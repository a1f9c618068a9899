// Python's operators on values. All charge the budget and throw Failure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_ast.hpp"
#include "text/jinja_budget.hpp"
#include "text/jinja_value.hpp"

namespace troupe::text::jinja {

/// str(value): what {{ value }} writes. Undefined is empty.
std::string to_text(Budget& budget, const Value& value);
/// repr(value): strings quoted.
std::string repr(Budget& budget, const Value& value);
/// Python's shortest spelling of a double.
std::string real_text(double value);

struct JsonStyle {
  int64_t indent = -1;      ///< spaces a level, -1: one line
  std::string indent_text;  ///< if not empty, instead of spaces
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
  bool ascii = false;
};
/// json.dumps(value).
std::string to_json(Budget& budget, const Value& value, const JsonStyle& style);

bool equal(Budget& budget, const Value& a, const Value& b);
/// -1, 0 or 1; fails for values that Python cannot order.
int order(Budget& budget, const Value& a, const Value& b);
/// item in container.
bool contains(Budget& budget, const Value& container, const Value& item);
bool compare(Budget& budget, Comparison op, const Value& a, const Value& b);

Value binary(Budget& budget, BinaryOperator op, const Value& a, const Value& b);
Value negated(const Value& value);

/// The items that a for loop over the value gets: characters, keys, items. Of a generator: those
/// that it has not given yet.
std::vector<Value> iterate(Budget& budget, const Value& value);
/// len(value).
int64_t length(Budget& budget, const Value& value);

/// value.name as Jinja looks it up: attributes and methods first, then keys.
Value get_attribute(Budget& budget, const Value& value, const std::string& name);
/// The filter attr: attributes and methods, no keys.
Value attribute_only(Budget& budget, const Value& value, const std::string& name);
/// value[key]: keys and indices first, then attributes.
Value get_item(Budget& budget, const Value& value, const Value& key);
/// value[start:stop:step]; none for what is left out.
Value get_slice(Budget& budget, const Value& value, const Value& start, const Value& stop,
                const Value& step);

/// A new string, charged.
Value make_text(Budget& budget, std::string text);

/// A dict with `key` set to `value` (in place if it is there).
void set_key(Budget& budget, Pairs& pairs, const Value& key, Value value);

/// Offset of `needle` in `text` at or after `from`, npos if there is none; linear time.
size_t find_text(std::string_view text, std::string_view needle, size_t from = 0);

std::string escape_html(std::string_view text);

/// format % value, and format.format(...).
std::string percent_format(Budget& budget, const std::string& format, const Value& value);
std::string brace_format(Budget& budget, const std::string& format, const Arguments& arguments);

/// Calls a method of a string, list, dict or loop.
Value call_method(Budget& budget, const Value& self, const std::string& name,
                  const Arguments& arguments);
Value call_string_method(Budget& budget, const std::string& self, const std::string& name,
                         const Arguments& arguments);
bool has_string_method(std::string_view name);
bool has_dict_method(std::string_view name);
bool has_sequence_method(Flavour flavour, std::string_view name);

/// Arguments matched to parameter names; fails if there are too many or an unknown name.
class Bound {
 public:
  Bound(std::string_view callee, const Arguments& arguments,
        std::initializer_list<std::string_view> parameters);
  [[nodiscard]] bool has(size_t i) const { return values_[i] != nullptr; }
  /// The argument, or undefined.
  [[nodiscard]] const Value& at(size_t i) const;
  /// The argument; fails if it is missing.
  const Value& need(size_t i) const;
  [[nodiscard]] bool truth(size_t i, bool fallback) const;
  [[nodiscard]] int64_t integer(size_t i, int64_t fallback) const;
  /// A string; none and a missing one give the fallback.
  [[nodiscard]] std::string text(size_t i, std::string fallback) const;

 private:
  std::string callee_;
  std::vector<std::string_view> parameters_;
  std::vector<const Value*> values_;
};

}  // namespace troupe::text::jinja
