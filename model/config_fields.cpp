#include "model/config_fields.hpp"

#include <cmath>

#include "base/concat.hpp"
#include "model/quoted.hpp"

namespace troupe::model {
namespace {

std::string shown(const Json& value) {
  if (value.kind() == Json::Kind::number) return value.text().substr(0, 40);
  if (value.is_string()) return model::quoted(value.text());
  return value.kind_name();
}

}  // namespace

const Json* ConfigFields::find(std::string_view key) const {
  const Json* found = file_.find(key);
  if (found == nullptr && defaults_ != nullptr) found = defaults_->find(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

Error ConfigFields::bad(std::string_view key, const std::string& found, std::string hint) const {
  return error(Code::corrupt, concat(where_, ": ", key, " is ", found), std::move(hint));
}

Result<std::optional<double>> ConfigFields::number(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<double>();
  const auto number = value->number();
  if (!number || !std::isfinite(*number)) return bad(key, shown(*value), "a number is expected");
  return std::optional<double>(*number);
}

Result<std::optional<bool>> ConfigFields::boolean(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<bool>();
  const auto truth = value->boolean();
  if (!truth) return bad(key, shown(*value), "true or false is expected");
  return std::optional<bool>(*truth);
}

Result<std::optional<std::string>> ConfigFields::text(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<std::string>();
  if (!value->is_string()) return bad(key, shown(*value), "a string is expected");
  return std::optional<std::string>(value->text());
}

Result<std::optional<std::vector<std::string>>> ConfigFields::texts(std::string_view key,
                                                                    size_t count) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<std::vector<std::string>>();
  if (!value->is_array()) return bad(key, shown(*value), "a list of strings is expected");
  if (value->items().size() != count) {
    return bad(key, concat("a list of ", value->items().size()), concat(count, " are expected"));
  }
  std::vector<std::string> texts;
  for (const Json& item : value->items()) {
    if (!item.is_string()) return bad(key, shown(item), "a list of strings is expected");
    texts.push_back(item.text());
  }
  return std::optional(std::move(texts));
}

Result<std::optional<std::vector<double>>> ConfigFields::numbers(std::string_view key,
                                                                 size_t count) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<std::vector<double>>();
  if (!value->is_array()) return bad(key, shown(*value), "a list of numbers is expected");
  if (value->items().size() != count) {
    return bad(key, concat("a list of ", value->items().size()), concat(count, " are expected"));
  }
  std::vector<double> numbers;
  for (const Json& item : value->items()) {
    const auto number = item.number();
    if (!number) return bad(key, shown(item), "a list of numbers is expected");
    numbers.push_back(*number);
  }
  return std::optional(std::move(numbers));
}

Result<std::optional<uint32_t>> ConfigFields::count(std::string_view key, uint32_t lowest,
                                                    uint32_t highest) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<uint32_t>();
  const auto number = value->unsigned_integer();
  if (!number || *number < lowest) {
    return bad(key, shown(*value), concat("a whole number from ", lowest, " to ", highest));
  }
  if (*number > highest) {
    return error(Code::exhausted, concat(where_, ": ", key, " is ", *number),
                 concat("at most ", highest, " is supported"));
  }
  return std::optional(static_cast<uint32_t>(*number));
}

Result<uint32_t> ConfigFields::required(std::string_view key, uint32_t lowest,
                                        uint32_t highest) const {
  TROUPE_ASSIGN(const auto found, count(key, lowest, highest));
  if (!found) {
    return error(Code::corrupt, concat(where_, ": ", key, " is missing"),
                 concat("a whole number from ", lowest, " to ", highest));
  }
  return *found;
}

std::string_view ConfigFields::first_of(const std::vector<std::string_view>& keys) const {
  for (const std::string_view key : keys) {
    if (in_file(key)) return key;
  }
  for (const std::string_view key : keys) {
    if (find(key) != nullptr) return key;
  }
  return keys.front();
}

}  // namespace troupe::model
