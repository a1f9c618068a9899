// One value of the manifest: text to number, amount, word or name, as its field's rule says.
#pragma once

#include <string>

#include "base/result.hpp"
#include "launch/manifest_rules.hpp"
#include "launch/yaml_tree.hpp"

namespace troupe::launch {

/// Sets (or appends, if the field is a list) the value; the error says what was expected.
Status read_value(const YamlNode& node, const FieldDescriptor& field,
                  google::protobuf::Message& out);

/// Sets every single field of the message, and of those inside it, to its default.
void set_defaults(google::protobuf::Message& out);

/// What may stand in the field: "a number from 0 to 65535", "fast or exact".
std::string expectation(const FieldDescriptor& field);

/// Whether a text may name something: a-z, 0-9, - and _, starting with a letter or digit.
bool is_name(std::string_view text);

}  // namespace troupe::launch
