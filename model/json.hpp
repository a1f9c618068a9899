// JSON as the files of a model folder hold it: a strict reader (RFC 8259) that gives a tree. The
// lower house has no JSON library; sizes, depth and the number of values are limited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace troupe::model {

class Json {
 public:
  enum class Kind : uint8_t { null, boolean, number, string, array, object };

  Json() = default;

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is_null() const { return kind_ == Kind::null; }
  [[nodiscard]] bool is_string() const { return kind_ == Kind::string; }
  [[nodiscard]] bool is_array() const { return kind_ == Kind::array; }
  [[nodiscard]] bool is_object() const { return kind_ == Kind::object; }

  /// The member of an object; nullptr where there is none, or where this is no object. Searches
  /// from the front: those who want every member of a large object walk keys() and items().
  [[nodiscard]] const Json* find(std::string_view key) const;

  /// Elements of an array, or values of an object in the order of the file.
  [[nodiscard]] const std::vector<Json>& items() const { return items_; }
  /// Keys of an object, one for each of items(); each key stands there once.
  [[nodiscard]] const std::vector<std::string>& keys() const { return keys_; }

  /// A string's bytes with escapes resolved; a number as it is written; else empty.
  [[nodiscard]] const std::string& text() const { return text_; }

  /// Nothing where the value is of another kind. An integer may be written 4096, 4096.0 or 4.096e3;
  /// one that does not fit, or is no whole number, gives nothing.
  [[nodiscard]] std::optional<bool> boolean() const;
  [[nodiscard]] std::optional<int64_t> integer() const;
  [[nodiscard]] std::optional<uint64_t> unsigned_integer() const;
  [[nodiscard]] std::optional<double> number() const;

  /// "null", "a string", "an array": for error messages.
  [[nodiscard]] const char* kind_name() const;

 private:
  friend class JsonParser;

  Kind kind_ = Kind::null;
  bool true_ = false;
  std::string text_;
  std::vector<Json> items_;
  std::vector<std::string> keys_;
};

/// Reads the whole of `text`. Errors: corrupt (with the byte), exhausted (a limit of
/// model/limits.hpp). A key that occurs twice in one object is corrupt.
Result<Json> parse_json(std::string_view text);

}  // namespace troupe::model
