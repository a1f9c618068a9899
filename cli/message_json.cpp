#include "cli/message_json.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "base/concat.hpp"
#include "base/defect.hpp"
#include "base/sha256.hpp"
#include "launch/nearest.hpp"

namespace troupe::cli {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Json = nlohmann::ordered_json;

std::string to_hex(uint64_t value) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (size_t i = 16; i-- > 0; value >>= 4) text[i] = digits[value & 15];
  return text;
}

std::string to_hex(const std::string& bytes) {
  return hex({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

/// The bytes of an even number of lower-case digits.
std::optional<std::string> from_hex(const std::string& text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

Json to_json(const Message& message);

/// The value of a field, or its entry `index` if it is repeated (-1: it is not).
Json value_of(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& r = *message.GetReflection();
  const bool one = index < 0;
  switch (field.type()) {
    case FieldDescriptor::TYPE_BOOL:
      return one ? r.GetBool(message, &field) : r.GetRepeatedBool(message, &field, index);
    case FieldDescriptor::TYPE_INT32:
      return one ? r.GetInt32(message, &field) : r.GetRepeatedInt32(message, &field, index);
    case FieldDescriptor::TYPE_INT64:
      return one ? r.GetInt64(message, &field) : r.GetRepeatedInt64(message, &field, index);
    case FieldDescriptor::TYPE_UINT32:
      return one ? r.GetUInt32(message, &field) : r.GetRepeatedUInt32(message, &field, index);
    case FieldDescriptor::TYPE_UINT64:
      return one ? r.GetUInt64(message, &field) : r.GetRepeatedUInt64(message, &field, index);
    case FieldDescriptor::TYPE_FIXED64:
      return to_hex(one ? r.GetUInt64(message, &field)
                        : r.GetRepeatedUInt64(message, &field, index));
    case FieldDescriptor::TYPE_ENUM:
      return (one ? r.GetEnum(message, &field) : r.GetRepeatedEnum(message, &field, index))->name();
    case FieldDescriptor::TYPE_STRING:
      return one ? r.GetString(message, &field) : r.GetRepeatedString(message, &field, index);
    case FieldDescriptor::TYPE_BYTES:
      return to_hex(one ? r.GetString(message, &field)
                        : r.GetRepeatedString(message, &field, index));
    case FieldDescriptor::TYPE_MESSAGE:
      return to_json(one ? r.GetMessage(message, &field)
                         : r.GetRepeatedMessage(message, &field, index));
    default:
      defect("a recorded message has a field of a type without a JSON form");
  }
}

Json to_json(const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  Json body = Json::object();
  for (const FieldDescriptor* field : fields) {
    if (!field->is_repeated()) {
      body[field->name()] = value_of(message, *field, -1);
      continue;
    }
    Json& entries = body[field->name()] = Json::array();
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      entries.push_back(value_of(message, *field, i));
    }
  }
  return body;
}

Error wrong(const std::string& where, const std::string& what) {
  return error(Code::invalid_argument, concat(where, " ", what));
}

Error not_a(const std::string& where, const char* wanted) {
  return wrong(where, concat("is not ", wanted));
}

std::vector<std::string> field_names(const Message& message) {
  std::vector<std::string> names;
  const auto* type = message.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) names.push_back(type->field(i)->name());
  return names;
}

Status fill(const Json& body, Message& message, const std::string& path);

template <class T>
Status read_unsigned(const Json& value, const std::string& where, T& number) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > std::numeric_limits<T>::max()) {
    return not_a(where, std::is_same_v<T, uint32_t> ? "a whole number from 0 to 4294967295"
                                                    : "a whole number from 0 to 2^64 - 1");
  }
  number = value.get<T>();
  return {};
}

template <class T>
Status read_signed(const Json& value, const std::string& where, T& number) {
  const bool fits =
      value.is_number_unsigned()
          ? value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<T>::max())
          : value.is_number_integer() && value.get<int64_t>() >= std::numeric_limits<T>::min();
  if (!fits) return not_a(where, "a whole number in range");
  number = value.get<T>();
  return {};
}

Status read_identity(const Json& value, const std::string& where, uint64_t& number) {
  const auto bytes = value.is_string() ? from_hex(value.get<std::string>()) : std::nullopt;
  if (!bytes || bytes->size() != sizeof number) {
    return not_a(where, "a text of 16 hexadecimal digits, 0-9 and a-f");
  }
  number = 0;
  for (const char c : *bytes) number = number << 8 | static_cast<uint8_t>(c);
  return {};
}

Status read_enum(const Json& value, const FieldDescriptor& field, const std::string& where,
                 const EnumValueDescriptor*& chosen) {
  chosen =
      value.is_string() ? field.enum_type()->FindValueByName(value.get<std::string>()) : nullptr;
  if (chosen != nullptr) return {};
  std::vector<std::string> names;
  for (int i = 0; i < field.enum_type()->value_count(); ++i) {
    names.push_back(field.enum_type()->value(i)->name());
  }
  const std::string hint =
      value.is_string() ? launch::did_you_mean(value.get<std::string>(), names) : "";
  return wrong(where, concat("is not the name of a ", field.enum_type()->name(), hint));
}

/// Sets a field, or adds an entry to it if it is repeated.
template <class T, class Read, class Set, class Add>
Status read_into(const Json& value, const FieldDescriptor& field, Message& message,
                 const std::string& where, Read read, Set set, Add add) {
  T number{};
  TROUPE_TRY(read(value, where, number));
  const Reflection* reflection = message.GetReflection();
  if (field.is_repeated()) {
    (reflection->*add)(&message, &field, number);
  } else {
    (reflection->*set)(&message, &field, number);
  }
  return {};
}

Status read_text(const Json& value, const FieldDescriptor& field, Message& message,
                 const std::string& where) {
  if (!value.is_string()) return not_a(where, "a text");
  std::string text = value.get<std::string>();
  if (field.type() == FieldDescriptor::TYPE_BYTES) {
    auto bytes = from_hex(text);
    if (!bytes) return not_a(where, "a text of hexadecimal digits, two a byte");
    text = std::move(*bytes);
  }
  const Reflection* reflection = message.GetReflection();
  if (field.is_repeated()) {
    reflection->AddString(&message, &field, std::move(text));
  } else {
    reflection->SetString(&message, &field, std::move(text));
  }
  return {};
}

Status read_value(const Json& value, const FieldDescriptor& field, Message& message,
                  const std::string& where) {
  using R = Reflection;
  switch (field.type()) {
    case FieldDescriptor::TYPE_BOOL: {
      const auto read = [](const Json& from, const std::string& at, bool& to) {
        if (!from.is_boolean()) return Status(not_a(at, "true or false"));
        to = from.get<bool>();
        return Status();
      };
      return read_into<bool>(value, field, message, where, read, &R::SetBool, &R::AddBool);
    }
    case FieldDescriptor::TYPE_INT32:
      return read_into<int32_t>(value, field, message, where, read_signed<int32_t>, &R::SetInt32,
                                &R::AddInt32);
    case FieldDescriptor::TYPE_INT64:
      return read_into<int64_t>(value, field, message, where, read_signed<int64_t>, &R::SetInt64,
                                &R::AddInt64);
    case FieldDescriptor::TYPE_UINT32:
      return read_into<uint32_t>(value, field, message, where, read_unsigned<uint32_t>,
                                 &R::SetUInt32, &R::AddUInt32);
    case FieldDescriptor::TYPE_UINT64:
      return read_into<uint64_t>(value, field, message, where, read_unsigned<uint64_t>,
                                 &R::SetUInt64, &R::AddUInt64);
    case FieldDescriptor::TYPE_FIXED64:
      return read_into<uint64_t>(value, field, message, where, read_identity, &R::SetUInt64,
                                 &R::AddUInt64);
    case FieldDescriptor::TYPE_ENUM: {
      const auto read = [&field](const Json& from, const std::string& at,
                                 const EnumValueDescriptor*& to) {
        return read_enum(from, field, at, to);
      };
      return read_into<const EnumValueDescriptor*>(value, field, message, where, read, &R::SetEnum,
                                                   &R::AddEnum);
    }
    case FieldDescriptor::TYPE_STRING:
    case FieldDescriptor::TYPE_BYTES:
      return read_text(value, field, message, where);
    case FieldDescriptor::TYPE_MESSAGE:
      return fill(value,
                  field.is_repeated() ? *message.GetReflection()->AddMessage(&message, &field)
                                      : *message.GetReflection()->MutableMessage(&message, &field),
                  where);
    default:
      defect("a recorded message has a field of a type without a JSON form");
  }
}

Status fill(const Json& body, Message& message, const std::string& path) {
  if (!body.is_object()) return not_a(path.empty() ? "the line" : path, "a JSON object");
  for (const auto& [key, value] : body.items()) {
    const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(key);
    if (field == nullptr) {
      return error(
          Code::invalid_argument,
          concat(path.empty() ? "the line" : path, " has a field ", launch::in_quotes(key)),
          concat("there is none of that name", launch::did_you_mean(key, field_names(message))));
    }
    const std::string where = path.empty() ? key : concat(path, ".", key);
    if (!field->is_repeated()) {
      TROUPE_TRY(read_value(value, *field, message, where));
      continue;
    }
    if (!value.is_array()) return not_a(where, "a JSON array");
    for (size_t i = 0; i < value.size(); ++i) {
      TROUPE_TRY(read_value(value[i], *field, message, concat(where, "[", i, "]")));
    }
  }
  return {};
}

/// The JSON of a line; refuses keys that an object has twice, which the library would overwrite.
Result<Json> parse(std::string_view line) {
  std::vector<std::set<std::string>> keys;
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && twice.empty()) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) twice = key;
    }
    return true;
  };
  Json body = Json::parse(line, watch, false);
  if (body.is_discarded()) return error(Code::invalid_argument, "the line is not valid JSON");
  if (!twice.empty()) {
    return error(Code::invalid_argument,
                 concat("the line has the field ", launch::in_quotes(twice), " twice"));
  }
  return body;
}

}  // namespace

std::string to_json_line(const Message& message) {
  return to_json(message).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status from_json_line(std::string_view line, Message& message) {
  if (line.size() > limits::json_line_bytes_max) {
    return error(Code::invalid_argument, concat("the line has ", line.size(), " bytes"),
                 concat("at most ", limits::json_line_bytes_max));
  }
  TROUPE_ASSIGN(const Json body, parse(line));
  return fill(body, message, "");
}

}  // namespace troupe::cli
