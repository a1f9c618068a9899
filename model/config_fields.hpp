// Keys of config.json with the type that their reader expects, and what a family assumes where the
// file is silent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/json.hpp"

namespace troupe::model {

/// Borrows both objects. A key that the file gives as null is absent, whatever the defaults say.
/// `where` names the object in errors: "config.json", "rope_scaling".
class ConfigFields {
 public:
  ConfigFields(const Json& file, const Json* defaults, std::string where)
      : file_(file), defaults_(defaults), where_(std::move(where)) {}

  /// nullptr where neither has it or the file says null.
  [[nodiscard]] const Json* find(std::string_view key) const;
  [[nodiscard]] bool in_file(std::string_view key) const { return file_.find(key) != nullptr; }

  /// Each gives nothing where the key is absent and Code::corrupt where the value has another type.
  [[nodiscard]] Result<std::optional<double>> number(std::string_view key) const;
  [[nodiscard]] Result<std::optional<bool>> boolean(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::string>> text(std::string_view key) const;
  /// A list of `count` strings. Errors: another number of them.
  [[nodiscard]] Result<std::optional<std::vector<std::string>>> texts(std::string_view key,
                                                                      size_t count) const;
  [[nodiscard]] Result<std::optional<std::vector<double>>> numbers(std::string_view key,
                                                                   size_t count) const;
  /// From `lowest` to `highest`; a key that is absent gives nothing.
  [[nodiscard]] Result<std::optional<uint32_t>> count(std::string_view key, uint32_t lowest,
                                                      uint32_t highest) const;
  /// The same of a key that must be there.
  [[nodiscard]] Result<uint32_t> required(std::string_view key, uint32_t lowest,
                                          uint32_t highest) const;
  /// The first of the keys that is there.
  [[nodiscard]] std::string_view first_of(const std::vector<std::string_view>& keys) const;

  /// "config.json: hidden_size is 0", with what would be right.
  [[nodiscard]] Error bad(std::string_view key, const std::string& found, std::string hint) const;
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  const Json& file_;
  const Json* defaults_;
  std::string where_;
};

}  // namespace troupe::model
