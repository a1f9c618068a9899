#include "launch/manifest_reader.hpp"

#include <set>

#include "base/concat.hpp"
#include "launch/limits.hpp"
#include "launch/manifest_rules.hpp"
#include "launch/manifest_value.hpp"
#include "launch/nearest.hpp"

namespace troupe::launch {
namespace {

using google::protobuf::Message;

class Reader {
 public:
  Reader(Positions& positions, Problems& problems) : positions_(positions), problems_(problems) {}

  void read_message(const YamlNode& node, const std::string& path, Message& out);

 private:
  void read_field(const YamlNode& node, const std::string& path, const FieldDescriptor& field,
                  Message& out);
  void read_list(const YamlNode& node, const std::string& path, const FieldDescriptor& field,
                 Message& out);
  void read_scalar(const YamlNode& node, const std::string& path, const FieldDescriptor& field,
                   Message& out);
  void find_missing(const YamlNode& node, const std::string& path,
                    const std::set<std::string>& present, const Message& out);

  Positions& positions_;
  Problems& problems_;
};

// "roles[1]" in a sentence about one of its fields.
std::string inside(const std::string& path) {
  return path.empty() ? "the manifest" : path;
}

std::string joined(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

void Reader::read_message(const YamlNode& node, const std::string& path, Message& out) {
  const auto& type = *out.GetDescriptor();
  set_defaults(out);
  if (node.kind != YamlNode::Kind::map) {
    problems_.add(node.at,
                  concat(inside(path), ": found ", describe(node), ", expected fields such as \"",
                         yaml_name(*type.field(0)), ": …\""));
    return;
  }
  std::set<std::string> present;
  for (const YamlNode::Entry& entry : node.map) {
    const FieldDescriptor* field = field_by_yaml_name(type, entry.key);
    if (field == nullptr) {
      const auto names = yaml_names(type);
      problems_.add(entry.at,
                    concat("unknown field ", in_quotes(entry.key), " in ", inside(path),
                           ", expected ", list_of(names), did_you_mean(entry.key, names)));
      continue;
    }
    const std::string field_path = joined(path, entry.key);
    if (!present.insert(entry.key).second) {
      const int line = positions_[field_path].line;
      problems_.add(entry.at, concat("duplicate field ", in_quotes(entry.key), " in ", inside(path),
                                     ", expected it once (it also stands on line ", line, ")"));
      continue;
    }
    positions_[field_path] = entry.at;
    read_field(entry.value, field_path, *field, out);
  }
  find_missing(node, path, present, out);
}

void Reader::find_missing(const YamlNode& node, const std::string& path,
                          const std::set<std::string>& present, const Message& out) {
  const auto& type = *out.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (present.contains(yaml_name(field))) continue;
    if (rule_of(field).required()) {
      problems_.add(node.at, concat(inside(path), " has no \"", yaml_name(field),
                                    "\", expected one: ", expectation(field)));
    }
  }
}

void Reader::read_field(const YamlNode& node, const std::string& path, const FieldDescriptor& field,
                        Message& out) {
  if (field.is_repeated()) return read_list(node, path, field, out);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return read_message(node, path, *out.GetReflection()->MutableMessage(&out, &field));
  }
  read_scalar(node, path, field, out);
}

void Reader::read_list(const YamlNode& node, const std::string& path, const FieldDescriptor& field,
                       Message& out) {
  if (node.kind != YamlNode::Kind::list) {
    problems_.add(node.at, concat(path, ": found ", describe(node), ", expected a list of ",
                                  expectation(field)));
    return;
  }
  if (node.list.empty() && rule_of(field).required()) {
    problems_.add(node.at, concat(path, ": an empty list, expected at least one entry"));
  }
  for (size_t i = 0; i < node.list.size(); ++i) {
    const std::string entry_path = concat(path, "[", i, "]");
    positions_[entry_path] = node.list[i].at;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      read_message(node.list[i], entry_path, *out.GetReflection()->AddMessage(&out, &field));
    } else {
      read_scalar(node.list[i], entry_path, field, out);
    }
  }
}

void Reader::read_scalar(const YamlNode& node, const std::string& path,
                         const FieldDescriptor& field, Message& out) {
  const Status read = read_value(node, field, out);
  if (!read.ok()) problems_.add(node.at, path + ": " + read.error().what);
}

}  // namespace

void read_manifest(const YamlNode& root, v1::Manifest& out, Positions& positions,
                   Problems& problems) {
  Reader(positions, problems).read_message(root, "", out);
}

}  // namespace troupe::launch
