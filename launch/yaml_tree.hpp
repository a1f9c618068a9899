// YAML as a plain tree with the position of every node, under limits.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace troupe::launch {

/// Counted from 1, as editors do.
struct Position {
  int line = 1;
  int column = 1;
  auto operator<=>(const Position&) const = default;
};

struct YamlNode {
  enum class Kind { null, scalar, list, map };
  struct Entry;

  YamlNode() = default;
  YamlNode(Kind kind_of, Position position);

  Kind kind = Kind::null;
  Position at;
  std::string text;        ///< scalar
  bool is_quoted = false;  ///< scalar in quotes: text, whatever it looks like
  std::vector<YamlNode> list;
  std::vector<Entry> map;  ///< in the order written; duplicate keys are kept
};

struct YamlNode::Entry {
  std::string key;
  Position at;
  YamlNode value;
};

/// "a number", "a list" and so on, for messages.
std::string describe(const YamlNode& node);

/// Parses one YAML document. Anchors, aliases, tags and several documents are refused: a manifest
/// needs none, and with aliases a few lines can announce billions of nodes. The error's sentence
/// begins "file:line:column: ".
Result<YamlNode> parse_yaml(std::string_view text, const std::string& file_name);

/// "file:line:column: "
std::string prefix(const std::string& file_name, Position at);

}  // namespace troupe::launch
