// What the files of the tokenizer.json reader share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/concat.hpp"
#include "base/result.hpp"
#include "text/text_limits.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::text {

using Node = nlohmann::json;

/// corrupt "tokenizer.json: <what>".
inline Error bad_json(std::string what, std::string hint = {}) {
  return error(Code::corrupt, "tokenizer.json: " + std::move(what), std::move(hint));
}

/// unsupported "tokenizer.json: the <part> X is not supported".
inline Error unknown_part(std::string_view part, std::string_view name, std::string known) {
  return error(
      Code::unsupported,
      concat("tokenizer.json: the ", part, " \"", name.substr(0, 40), "\" is not supported"),
      "supported are " + std::move(known));
}

/// Members with a default; one of another type counts as absent.
inline std::string text_of(const Node& node, const char* name, std::string otherwise = {}) {
  const auto found = node.is_object() ? node.find(name) : node.end();
  return found != node.end() && found->is_string() ? found->get<std::string>()
                                                   : std::move(otherwise);
}
inline bool flag_of(const Node& node, const char* name, bool otherwise) {
  const auto found = node.is_object() ? node.find(name) : node.end();
  return found != node.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}
inline int64_t number_of(const Node& node, const char* name, int64_t otherwise) {
  const auto found = node.is_object() ? node.find(name) : node.end();
  return found != node.end() && found->is_number_integer() ? found->get<int64_t>() : otherwise;
}
/// The member, or null.
inline const Node& member(const Node& node, const char* name) {
  static const Node none;
  const auto found = node.is_object() ? node.find(name) : node.end();
  return found == node.end() ? none : *found;
}

/// Calls `read` for every member of a Sequence's list; the Sequence itself is `depth` deep.
template <class Read>
Status each_of(const Node& node, const char* list, int depth, const Read& read) {
  if (depth >= limits::steps_depth_max) return bad_json("sequences are nested too deeply");
  const Node& parts = member(node, list);
  if (!parts.is_array()) return bad_json(concat("a Sequence has no list ", list));
  if (parts.size() > limits::steps_max) {
    return bad_json(concat("a Sequence has ", parts.size(), " parts"),
                    concat("at most ", limits::steps_max));
  }
  for (const Node& part : parts) TROUPE_TRY(read(part));
  return {};
}

/// {"String": text} or {"Regex": text}.
Status read_pattern(const Node& node, std::string& pattern, bool& is_regex);

Status read_normalizer(const Node& node, TokenizerSpec& spec, int depth = 0);
Status read_pre_tokenizer(const Node& node, TokenizerSpec& spec, int depth = 0);
Status read_post_processor(const Node& node, TokenizerSpec& spec, int depth = 0);
Status read_decoder(const Node& node, TokenizerSpec& spec, int depth = 0);
Status read_model(const Node& model, TokenizerSpec& spec);

}  // namespace troupe::text
