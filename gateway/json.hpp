// JSON of requests: parsed within bounds, read field by field with errors that name the field.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/concat.hpp"
#include "gateway/api_error.hpp"

namespace troupe::gateway {

using Json = nlohmann::ordered_json;

/// As text; broken UTF-8 is replaced.
std::string text_of(const Json& json);

/// A body that is one JSON object, of bounded depth and size: 400 otherwise.
std::optional<ApiError> parse_body(std::string_view body, Json& out);

/// Reads the fields of an object. The first mistake stays; after it everything else does nothing,
/// so that a reader asks once, at the end. null counts as absent.
class Fields {
 public:
  /// `path` stands before each name, e.g. "messages[0]."; `object` must outlive this.
  Fields(const Json& object, std::string path, std::optional<ApiError>& error);

  /// The value, or null if it is absent. Every name asked for is a known one.
  const Json* find(const char* name);
  [[nodiscard]] bool failed() const { return error_.has_value(); }

  void text(const char* name, std::string& out);
  void flag(const char* name, bool& out);
  void real(const char* name, float low, float high, float& out, bool above_low = false);
  template <class T>
  bool whole(const char* name, int64_t low, int64_t high, T& out) {
    int64_t value = 0;
    if (!read_whole(name, low, high, value)) return false;
    out = static_cast<T>(value);
    return true;
  }
  /// An array of at most `most` entries, or null.
  const Json* array(const char* name, size_t most);
  const Json* object(const char* name);

  void refuse(const std::string& name, const std::string& what, const std::string& code = {});
  [[nodiscard]] std::string where(const std::string& name) const { return path_ + name; }
  /// Fields that nobody asked for.
  [[nodiscard]] std::vector<std::string> unknown() const;

 private:
  bool read_whole(const char* name, int64_t low, int64_t high, int64_t& out);

  const Json& object_;
  std::string path_;
  std::optional<ApiError>& error_;
  std::set<std::string, std::less<>> known_;
};

/// "a string", "an array" and so on.
std::string kind_of(const Json& json);

}  // namespace troupe::gateway
