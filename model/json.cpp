#include "model/json.hpp"

#include <charconv>
#include <cmath>

namespace troupe::model {

const Json* Json::find(std::string_view key) const {
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i] == key) return &items_[i];
  }
  return nullptr;
}

std::optional<bool> Json::boolean() const {
  return kind_ == Kind::boolean ? std::optional(true_) : std::nullopt;
}

std::optional<double> Json::number() const {
  if (kind_ != Kind::number) return std::nullopt;
  double value = 0.0;
  const auto [end, failure] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
  if (failure != std::errc() || end != text_.data() + text_.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> Json::integer() const {
  if (kind_ != Kind::number) return std::nullopt;
  int64_t value = 0;
  const char* last = text_.data() + text_.size();
  const auto [end, failure] = std::from_chars(text_.data(), last, value);
  if (failure == std::errc() && end == last) return value;
  constexpr double exact_max = 9007199254740992.0;  // 2^53
  const std::optional<double> real = number();
  if (!real || std::fabs(*real) > exact_max || std::trunc(*real) != *real) return std::nullopt;
  return static_cast<int64_t>(*real);
}

std::optional<uint64_t> Json::unsigned_integer() const {
  if (kind_ != Kind::number) return std::nullopt;
  uint64_t value = 0;
  const char* last = text_.data() + text_.size();
  const auto [end, failure] = std::from_chars(text_.data(), last, value);
  if (failure == std::errc() && end == last) return value;
  const std::optional<int64_t> whole = integer();
  return whole && *whole >= 0 ? std::optional(static_cast<uint64_t>(*whole)) : std::nullopt;
}

const char* Json::kind_name() const {
  switch (kind_) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return "a boolean";
    case Kind::number:
      return "a number";
    case Kind::string:
      return "a string";
    case Kind::array:
      return "an array";
    case Kind::object:
      return "an object";
  }
  return "a value";
}

}  // namespace troupe::model
