// How the fields of schemas/manifest.proto look in YAML: the description is the grammar.
#pragma once

#include <string>
#include <vector>

#include "schemas/manifest.pb.h"

namespace troupe::launch {

using FieldDescriptor = google::protobuf::FieldDescriptor;

/// The rule written beside the field; all defaults where there is none.
const v1::Manifest::Rule& rule_of(const FieldDescriptor& field);

/// The field's name in YAML: without _bytes or _ms where the value carries the unit.
std::string yaml_name(const FieldDescriptor& field);

/// The names of all fields of a message, in order.
std::vector<std::string> yaml_names(const google::protobuf::Descriptor& message);

/// The field with that name in YAML, or null.
const FieldDescriptor* field_by_yaml_name(const google::protobuf::Descriptor& message,
                                          const std::string& name);

/// An enum value in YAML: ROLE_KV_STORE is "kv_store".
std::string yaml_name(const google::protobuf::EnumValueDescriptor& value);

/// All legal words of an enum.
std::vector<std::string> yaml_names(const google::protobuf::EnumDescriptor& type);

/// "kv_store"; the number of an enum value that a newer build knows.
std::string role_name(v1::Manifest::Role role);

}  // namespace troupe::launch
