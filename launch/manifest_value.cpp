#include "launch/manifest_value.hpp"

#include <charconv>
#include <limits>

#include "base/concat.hpp"
#include "launch/amounts.hpp"
#include "launch/limits.hpp"
#include "launch/nearest.hpp"

namespace troupe::launch {
namespace {

using google::protobuf::Message;

Error wrong(std::string what) {
  return error(Code::invalid_argument, std::move(what));
}

uint64_t max_of(const FieldDescriptor& field) {
  if (rule_of(field).max() != 0) return rule_of(field).max();
  // Signed ends keep sums of two such values free of overflow.
  return field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32
             ? static_cast<uint64_t>(std::numeric_limits<uint32_t>::max())
             : static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
}

std::string amount_text(const FieldDescriptor& field, uint64_t value) {
  switch (rule_of(field).unit()) {
    case v1::Manifest::UNIT_BYTES:
      return format_bytes(value);
    case v1::Manifest::UNIT_MS:
      return format_duration_ms(value);
    default:
      return std::to_string(value);
  }
}

Result<uint64_t> parse_number(const YamlNode& node, const FieldDescriptor& field) {
  switch (rule_of(field).unit()) {
    case v1::Manifest::UNIT_BYTES:
      return parse_bytes(node.text);
    case v1::Manifest::UNIT_MS:
      return parse_duration_ms(node.text);
    default:
      break;
  }
  uint64_t value = 0;
  const char* end = node.text.data() + node.text.size();
  const auto [stop, code] = std::from_chars(node.text.data(), end, value);
  if (code != std::errc() || stop != end || node.is_quoted) {
    return wrong(concat("found ", node.is_quoted ? "a text in quotes, " : "", in_quotes(node.text),
                        ", expected ", expectation(field)));
  }
  return value;
}

Status read_number(const YamlNode& node, const FieldDescriptor& field, uint64_t& value) {
  TROUPE_ASSIGN(value, parse_number(node, field));
  const uint64_t min = rule_of(field).min();
  if (value < min || value > max_of(field)) {
    return wrong(concat(in_quotes(node.text), " is out of range, expected ",
                        rule_of(field).unit() == v1::Manifest::UNIT_NONE ? "" : "an amount, ",
                        min == max_of(field) ? "" : "from ", amount_text(field, min),
                        min == max_of(field) ? "" : " to " + amount_text(field, max_of(field))));
  }
  return {};
}

Status read_bool(const YamlNode& node, bool& value) {
  value = node.text == "true";
  if (!node.is_quoted && (value || node.text == "false")) return {};
  std::string hint;
  if (node.text == "yes" || node.text == "on") hint = ", did you mean \"true\"?";
  if (node.text == "no" || node.text == "off") hint = ", did you mean \"false\"?";
  return wrong(concat("found ", in_quotes(node.text), ", expected true or false", hint));
}

Status read_enum(const YamlNode& node, const FieldDescriptor& field, int& value) {
  const auto& type = *field.enum_type();
  for (int i = 1; i < type.value_count(); ++i) {
    if (yaml_name(*type.value(i)) != node.text) continue;
    value = type.value(i)->number();
    return {};
  }
  const auto names = yaml_names(type);
  return wrong(concat("found ", in_quotes(node.text), ", expected ", list_of(names),
                      did_you_mean(node.text, names)));
}

bool is_address(std::string_view text) {
  return !text.empty() && text.size() <= 253 &&
         text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:") ==
             std::string_view::npos;
}

Status check_text(const std::string& text, const FieldDescriptor& field) {
  const v1::Manifest::Rule& rule = rule_of(field);
  const bool has_control = text.find('\0') != std::string::npos || text.find('\n') != text.npos;
  if (text.empty() || has_control || (rule.is_name() && !is_name(text)) ||
      (rule.is_address() && !is_address(text))) {
    return wrong(concat("found ", in_quotes(text), ", expected ", expectation(field)));
  }
  return {};
}

}  // namespace

bool is_name(std::string_view text) {
  const auto is_first = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (text.empty() || text.size() > limits::name_length || !is_first(text.front())) return false;
  for (const char c : text) {
    if (!is_first(c) && c != '-' && c != '_') return false;
  }
  return true;
}

Status read_value(const YamlNode& node, const FieldDescriptor& field, Message& out) {
  if (node.kind != YamlNode::Kind::scalar) {
    return wrong(concat("found ", describe(node), ", expected ", expectation(field)));
  }
  const auto& reflection = *out.GetReflection();
  const bool is_list = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64: {
      uint64_t value = 0;
      TROUPE_TRY(read_number(node, field, value));
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
        reflection.SetUInt64(&out, &field, value);
      } else {
        reflection.SetUInt32(&out, &field, static_cast<uint32_t>(value));
      }
      return {};
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      bool value = false;
      TROUPE_TRY(read_bool(node, value));
      reflection.SetBool(&out, &field, value);
      return {};
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      int value = 0;
      TROUPE_TRY(read_enum(node, field, value));
      is_list ? reflection.AddEnumValue(&out, &field, value)
              : reflection.SetEnumValue(&out, &field, value);
      return {};
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      TROUPE_TRY(check_text(node.text, field));
      is_list ? reflection.AddString(&out, &field, node.text)
              : reflection.SetString(&out, &field, node.text);
      return {};
    }
    default:
      return error(Code::internal, "a field of a kind that the reader does not know");
  }
}

void set_defaults(Message& out) {
  const auto& type = *out.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.is_repeated()) continue;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      set_defaults(*out.GetReflection()->MutableMessage(&out, &field));
    } else if (!rule_of(field).fallback().empty()) {
      YamlNode node(YamlNode::Kind::scalar, Position());
      node.text = rule_of(field).fallback();
      // A default that its own rule refuses shows in the tests, which read each of them.
      if (!read_value(node, field, out).ok()) std::abort();
    }
  }
}

std::string expectation(const FieldDescriptor& field) {
  const v1::Manifest::Rule& rule = rule_of(field);
  if (rule.unit() == v1::Manifest::UNIT_BYTES) return "an amount such as 512MiB";
  if (rule.unit() == v1::Manifest::UNIT_MS) return "a duration such as 30s";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return "fields " + list_of(yaml_names(*field.message_type()), 4);
    case FieldDescriptor::CPPTYPE_ENUM:
      return list_of(yaml_names(*field.enum_type()));
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_STRING:
      break;
    default:
      if (rule.min() == max_of(field)) return std::to_string(rule.min());
      return concat("a number from ", rule.min(), " to ", max_of(field));
  }
  if (rule.is_name()) return "a name of a-z, 0-9, - and _, at most 63 long";
  if (rule.is_address()) return "an IP address or a host name";
  if (!rule.refers_to().empty()) return "a name from \"" + rule.refers_to() + "\"";
  return "a text on one line";
}

}  // namespace troupe::launch
