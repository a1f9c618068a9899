#include "gateway/json.hpp"

#include <cmath>

#include "gateway/limits.hpp"
#include "text/json_text.hpp"

namespace troupe::gateway {
namespace {

/// Looks at brackets and commas alone: what the parser builds is bounded before it builds it.
std::optional<std::string> too_much(std::string_view body) {
  std::vector<size_t> members;  // of each open object or array
  size_t values = 0;
  for (size_t i = 0; i < body.size(); ++i) {
    switch (body[i]) {
      case '"':
        i = text::end_of_string(body, i + 1);
        break;
      case '{':
      case '[':
        // An object is read as a list: with many members each look-up would be slow.
        members.push_back(body[i] == '{' ? 0 : SIZE_MAX);
        if (members.size() > limits::json_depth_max) {
          return concat("the body is nested deeper than ", limits::json_depth_max, " levels");
        }
        ++values;
        break;
      case '}':
      case ']':
        if (!members.empty()) members.pop_back();
        break;
      case ',':
        if (!members.empty() && members.back() != SIZE_MAX &&
            ++members.back() >= limits::json_members_max) {
          return concat("an object of the body has more than ", limits::json_members_max,
                        " members");
        }
        ++values;
        break;
      default:
        break;
    }
    if (values > limits::json_values_max) {
      return concat("the body has more than ", limits::json_values_max, " values");
    }
  }
  return std::nullopt;
}

}  // namespace

std::string text_of(const Json& json) {
  return text::to_json(json);
}

std::optional<ApiError> parse_body(std::string_view body, Json& out) {
  if (const auto why = too_much(body)) return ApiError{400, *why, {}, "invalid_json"};
  try {
    out = text::parse_json(body);
  } catch (const Json::exception& failure) {
    std::string why = failure.what();
    if (const size_t end = why.find("] "); end != std::string::npos) why.erase(0, end + 2);
    if (why.size() > 200) why.resize(200);
    return ApiError{400, "the body is not JSON: " + text_of(why), {}, "invalid_json"};
  }
  if (!out.is_object()) {
    return ApiError{
        400, "the body is " + kind_of(out) + ", expected an object", {}, "invalid_json"};
  }
  return std::nullopt;
}

std::string kind_of(const Json& json) {
  if (json.is_string()) return "a string";
  if (json.is_boolean()) return "a boolean";
  if (json.is_number()) return "a number";
  if (json.is_array()) return "an array";
  return json.is_object() ? "an object" : "null";
}

Fields::Fields(const Json& object, std::string path, std::optional<ApiError>& error)
    : object_(object), path_(std::move(path)), error_(error) {}

void Fields::refuse(const std::string& name, const std::string& what, const std::string& code) {
  if (error_) return;
  const std::string param = where(name);
  error_ = ApiError{400, param + " " + what, param, code.empty() ? "invalid_value" : code};
}

const Json* Fields::find(const char* name) {
  known_.insert(name);
  if (error_ || !object_.is_object()) return nullptr;
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void Fields::text(const char* name, std::string& out) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_string()) {
    refuse(name, "is " + kind_of(*value) + ", expected a string", "invalid_type");
    return;
  }
  out = value->get<std::string>();
}

void Fields::flag(const char* name, bool& out) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_boolean()) {
    refuse(name, "is " + kind_of(*value) + ", expected true or false", "invalid_type");
    return;
  }
  out = value->get<bool>();
}

void Fields::real(const char* name, float low, float high, float& out, bool above_low) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_number()) {
    refuse(name, "is " + kind_of(*value) + ", expected a number", "invalid_type");
    return;
  }
  const auto number = value->get<double>();
  const bool is_above = above_low ? number > low : number >= low;
  if (!is_above || !(number <= high)) {
    refuse(name, concat("is ", value->dump(), ", expected ", above_low ? "above " : "", low, " to ",
                        high));
    return;
  }
  out = static_cast<float>(number);
}

bool Fields::read_whole(const char* name, int64_t low, int64_t high, int64_t& out) {
  const Json* value = find(name);
  if (value == nullptr) return false;
  const std::string range = concat("expected a whole number from ", low, " to ", high);
  if (!value->is_number()) {
    refuse(name, "is " + kind_of(*value) + ", " + range, "invalid_type");
    return false;
  }
  // 5.0 is whole: some clients have no integers.
  const auto number = value->get<double>();
  const bool is_whole = value->is_number_integer() || std::floor(number) == number;
  const bool fits = number >= -9.2e18 && number <= 9.2e18;
  if (is_whole && fits) {
    out = value->is_number_integer() ? value->get<int64_t>() : static_cast<int64_t>(number);
    if (out >= low && out <= high) return true;
  }
  refuse(name, concat("is ", value->dump(), ", ", range));
  return false;
}

const Json* Fields::array(const char* name, size_t most) {
  const Json* value = find(name);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) {
    refuse(name, "is " + kind_of(*value) + ", expected an array", "invalid_type");
    return nullptr;
  }
  if (value->size() > most) {
    refuse(name, concat("has ", value->size(), " entries, expected at most ", most));
    return nullptr;
  }
  return value;
}

const Json* Fields::object(const char* name) {
  const Json* value = find(name);
  if (value == nullptr || value->is_object()) return value;
  refuse(name, "is " + kind_of(*value) + ", expected an object", "invalid_type");
  return nullptr;
}

std::vector<std::string> Fields::unknown() const {
  std::vector<std::string> names;
  if (!object_.is_object()) return names;
  for (const auto& [name, value] : object_.items()) {
    if (!known_.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace troupe::gateway
