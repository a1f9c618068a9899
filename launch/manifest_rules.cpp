#include "launch/manifest_rules.hpp"

#include <string_view>

namespace troupe::launch {
namespace {

std::string without_suffix(const std::string& name, std::string_view suffix) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

}  // namespace

const v1::Manifest::Rule& rule_of(const FieldDescriptor& field) {
  return field.options().GetExtension(v1::Manifest::rule);
}

std::string yaml_name(const FieldDescriptor& field) {
  switch (rule_of(field).unit()) {
    case v1::Manifest::UNIT_BYTES:
      return without_suffix(field.name(), "_bytes");
    case v1::Manifest::UNIT_MS:
      return without_suffix(field.name(), "_ms");
    default:
      return field.name();
  }
}

std::vector<std::string> yaml_names(const google::protobuf::Descriptor& message) {
  std::vector<std::string> names;
  for (int i = 0; i < message.field_count(); ++i) names.push_back(yaml_name(*message.field(i)));
  return names;
}

const FieldDescriptor* field_by_yaml_name(const google::protobuf::Descriptor& message,
                                          const std::string& name) {
  for (int i = 0; i < message.field_count(); ++i) {
    if (yaml_name(*message.field(i)) == name) return message.field(i);
  }
  return nullptr;
}

std::string yaml_name(const google::protobuf::EnumValueDescriptor& value) {
  const std::string& zero = value.type()->value(0)->name();
  const size_t prefix = without_suffix(zero, "UNSPECIFIED").size();
  std::string name = value.name().substr(prefix);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

std::vector<std::string> yaml_names(const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 1; i < type.value_count(); ++i) names.push_back(yaml_name(*type.value(i)));
  return names;
}

std::string role_name(v1::Manifest::Role role) {
  const auto* value = v1::Manifest::Role_descriptor()->FindValueByNumber(role);
  return value == nullptr ? std::to_string(static_cast<int>(role)) : yaml_name(*value);
}

}  // namespace troupe::launch
