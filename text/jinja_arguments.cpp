#include <algorithm>

#include "text/jinja_operations.hpp"

namespace troupe::text::jinja {

Bound::Bound(std::string_view callee, const Arguments& arguments,
             std::initializer_list<std::string_view> parameters)
    : callee_(callee), parameters_(parameters), values_(parameters.size(), nullptr) {
  if (arguments.positional.size() > parameters_.size()) {
    fail(callee_, " takes at most ", parameters_.size(), " arguments, ",
         arguments.positional.size(), " given");
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(parameters_.begin(), parameters_.end(), name);
    if (found == parameters_.end()) fail(callee_, " has no parameter '", name, "'");
    const Value*& slot = values_[static_cast<size_t>(found - parameters_.begin())];
    if (slot != nullptr) fail(callee_, " got '", name, "' twice");
    slot = &value;
  }
}

const Value& Bound::at(size_t i) const {
  static const Value missing;
  return values_[i] == nullptr ? missing : *values_[i];
}

const Value& Bound::need(size_t i) const {
  if (values_[i] == nullptr) fail(callee_, " needs the argument '", parameters_[i], "'");
  return *values_[i];
}

bool Bound::truth(size_t i, bool fallback) const {
  return has(i) ? at(i).truth() : fallback;
}

int64_t Bound::integer(size_t i, int64_t fallback) const {
  if (!has(i) || at(i).is(Kind::none)) return fallback;
  if (!at(i).is_integral()) {
    fail("'", parameters_[i], "' of ", callee_, " must be an integer, not ", at(i).type_name());
  }
  return at(i).to_integer();
}

std::string Bound::text(size_t i, std::string fallback) const {
  if (!has(i) || at(i).is(Kind::none)) return fallback;
  if (!at(i).is(Kind::string)) {
    fail("'", parameters_[i], "' of ", callee_, " must be a string, not ", at(i).type_name());
  }
  return at(i).as_string();
}

}  // namespace troupe::text::jinja
