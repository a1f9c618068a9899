#include "text/jinja_value.hpp"

#include <algorithm>

#include "text/jinja_error.hpp"
#include "text/text_limits.hpp"

namespace troupe::text::jinja {

namespace {

int checked_depth(int depth) {
  if (depth > limits::template_source_depth_max) {
    fail("a value is nested more than ", limits::template_source_depth_max, " deep");
  }
  return depth;
}

}  // namespace

Value Value::none() {
  Value v;
  v.data_ = None{};
  return v;
}

Value Value::boolean(bool value) {
  Value v;
  v.data_ = value;
  return v;
}

Value Value::integer(int64_t value) {
  Value v;
  v.data_ = value;
  return v;
}

Value Value::real(double value) {
  Value v;
  v.data_ = value;
  return v;
}

Value Value::string(std::string bytes, bool safe) {
  Value v;
  v.data_ = std::make_shared<const String>(String{std::move(bytes), safe});
  return v;
}

Value Value::undefined(std::string why) {
  Value v;
  v.data_ = Undefined{std::make_shared<const std::string>(std::move(why))};
  return v;
}

Value Value::sequence(std::vector<Value> items, Flavour flavour) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  checked_depth(depth + 1);
  Value v;
  v.data_ = std::make_shared<const Sequence>(Sequence{flavour, std::move(items), depth + 1});
  return v;
}

Value Value::dict(Pairs items) {
  int depth = 0;
  for (const auto& [key, value] : items) depth = std::max({depth, key.depth(), value.depth()});
  checked_depth(depth + 1);
  Value v;
  v.data_ = std::make_shared<const Dict>(Dict{std::move(items), depth + 1});
  return v;
}

Value Value::builtin(const Builtin* builtin) {
  Value v;
  v.data_ = builtin;
  return v;
}

Value Value::method(Value self, std::string name) {
  checked_depth(self.depth() + 1);
  Value v;
  v.data_ = std::make_shared<const Method>(
      Method{std::make_shared<const Value>(std::move(self)), std::move(name)});
  return v;
}

Value Value::macro(const Macro* macro) {
  Value v;
  v.data_ = macro;
  return v;
}

Value Value::name_space(NameSpace* name_space) {
  Value v;
  v.data_ = name_space;
  return v;
}

Value Value::loop(std::shared_ptr<const LoopState> loop) {
  checked_depth(loop->depth);
  Value v;
  v.data_ = std::move(loop);
  return v;
}

Value Value::cycler(std::vector<Value> items, bool joiner) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  checked_depth(depth + 1);
  Value v;
  v.data_ = std::make_shared<const Cycler>(Cycler{std::move(items), joiner, depth + 1});
  return v;
}

std::string Value::why_undefined() const {
  const auto* undefined_value = std::get_if<Undefined>(&data_);
  if (undefined_value == nullptr || undefined_value->why == nullptr)
    return "the value is undefined";
  return *undefined_value->why;
}

int64_t Value::to_integer() const {
  return is(Kind::boolean) ? (as_boolean() ? 1 : 0) : as_integer();
}

double Value::to_real() const {
  return is(Kind::real) ? as_real() : static_cast<double>(to_integer());
}

bool Value::truth() const {
  switch (kind()) {
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
      return as_boolean();
    case Kind::integer:
      return as_integer() != 0;
    case Kind::real:
      return as_real() != 0.0;
    case Kind::string:
      return !as_string().empty();
    case Kind::sequence:
      return as_sequence().flavour == Flavour::generator || !as_sequence().items.empty();
    case Kind::dict:
      return !as_dict().items.empty();
    default:
      return true;
  }
}

int Value::depth() const {
  switch (kind()) {
    case Kind::sequence:
      return as_sequence().depth;
    case Kind::dict:
      return as_dict().depth;
    case Kind::method:
      return as_method().self->depth() + 1;
    case Kind::loop:
      return as_loop().depth;
    case Kind::cycler:
      return as_cycler().depth;
    default:
      return 0;
  }
}

namespace {

const char* sequence_name(Flavour flavour) {
  switch (flavour) {
    case Flavour::list:
      return "list";
    case Flavour::tuple:
    case Flavour::group:
      return "tuple";
    case Flavour::generator:
      return "generator";
    case Flavour::keys:
      return "dict_keys";
    case Flavour::values:
      return "dict_values";
    case Flavour::items:
      return "dict_items";
    case Flavour::range:
      return "range";
  }
  return "list";
}

}  // namespace

const char* Value::type_name() const {
  switch (kind()) {
    case Kind::undefined:
      return "Undefined";
    case Kind::none:
      return "NoneType";
    case Kind::boolean:
      return "bool";
    case Kind::integer:
      return "int";
    case Kind::real:
      return "float";
    case Kind::string:
      return "str";
    case Kind::sequence:
      return sequence_name(as_sequence().flavour);
    case Kind::dict:
      return "dict";
    case Kind::builtin:
      return "function";
    case Kind::method:
      return "method";
    case Kind::macro:
      return "Macro";
    case Kind::name_space:
      return "Namespace";
    case Kind::loop:
      return "LoopContext";
    case Kind::cycler:
      return as_cycler().joiner ? "Joiner" : "Cycler";
  }
  return "object";
}

const Value* Value::find(std::string_view key) const {
  for (const auto& [name, value] : as_dict().items) {
    if (name.is(Kind::string) && name.as_string() == key) return &value;
  }
  return nullptr;
}

bool Value::same_as(const Value& other) const {
  if (kind() != other.kind()) return false;
  switch (kind()) {
    case Kind::undefined:
      return false;
    case Kind::none:
      return true;
    case Kind::boolean:
      return as_boolean() == other.as_boolean();
    case Kind::integer:
      return as_integer() == other.as_integer();
    case Kind::real:
      return as_real() == other.as_real();
    case Kind::string:
      return as_string() == other.as_string();
    case Kind::sequence:
      return &as_sequence() == &other.as_sequence();
    case Kind::dict:
      return &as_dict() == &other.as_dict();
    case Kind::builtin:
      return as_builtin() == other.as_builtin();
    case Kind::method:
      return &as_method() == &other.as_method();
    case Kind::macro:
      return as_macro() == other.as_macro();
    case Kind::name_space:
      return as_name_space() == other.as_name_space();
    case Kind::loop:
      return &as_loop() == &other.as_loop();
    case Kind::cycler:
      return &as_cycler() == &other.as_cycler();
  }
  return false;
}

}  // namespace troupe::text::jinja
