#include "text/tokenizer_json.hpp"

#include <algorithm>
#include <unordered_map>

#include "text/stop_tokens.hpp"
#include "text/text_limits.hpp"
#include "text/tokenizer_json_parts.hpp"
#include "text/tokenizer_parts.hpp"

namespace troupe::text {

namespace {

Result<Node> parse(std::string_view bytes, std::string_view file) {
  if (bytes.size() > limits::tokenizer_file_bytes_max) {
    return error(Code::exhausted, concat(file, " has ", bytes.size(), " bytes"),
                 concat("at most ", limits::tokenizer_file_bytes_max));
  }
  Node root = Node::parse(bytes, nullptr, false);
  if (root.is_discarded()) return error(Code::corrupt, concat(file, " is no JSON"));
  if (!root.is_object()) return error(Code::corrupt, concat(file, " is no JSON object"));
  return root;
}

/// Added tokens get their place in the vocabulary, a type and flags.
Status read_added(const Node& tokens, TokenizerSpec& spec) {
  if (tokens.is_null()) return {};
  if (!tokens.is_array()) return bad_json("added_tokens is no list");
  for (const Node& token : tokens) {
    const int64_t id = number_of(token, "id", -1);
    const std::string content = text_of(token, "content");
    if (id < 0 || static_cast<size_t>(id) >= limits::vocabulary_max) {
      return bad_json(concat("an added token has the id ", id),
                      concat("ids are 0 to ", limits::vocabulary_max - 1));
    }
    if (content.empty()) continue;  // would be found everywhere
    const size_t place = static_cast<size_t>(id);
    if (place >= spec.tokens.size()) {
      spec.tokens.resize(place + 1);
      spec.types.resize(place + 1, TokenType::unused);
    }
    const bool special = flag_of(token, "special", false);
    const bool outside = spec.types[place] == TokenType::unused;
    spec.tokens[place] = content;
    spec.types[place] = !special                ? TokenType::user_defined
                        : id == spec.unknown_id ? TokenType::unknown
                                                : TokenType::control;
    AddedToken flags;
    flags.id = static_cast<int32_t>(id);
    flags.single_word = flag_of(token, "single_word", false);
    flags.lstrip = flag_of(token, "lstrip", false);
    flags.rstrip = flag_of(token, "rstrip", false);
    flags.normalized = flag_of(token, "normalized", !special);
    flags.outside = outside;
    spec.added.push_back(flags);
  }
  return {};
}

/// tokenizer_config.json writes a token as its text or as an object that has it.
std::string token_text(const Node& node) {
  return node.is_string() ? node.get<std::string>() : text_of(node, "content");
}

int32_t id_of_text(const TokenizerSpec& spec, const std::string& text) {
  if (text.empty()) return -1;
  const auto found = std::ranges::find(spec.tokens, text);
  return found == spec.tokens.end() ? -1 : static_cast<int32_t>(found - spec.tokens.begin());
}

/// One template, or a list of named ones, of which "default" is taken.
std::string template_of(const Node& node) {
  if (node.is_string()) return node.get<std::string>();
  if (!node.is_array()) return {};
  for (const Node& entry : node) {
    if (text_of(entry, "name") == "default") return text_of(entry, "template");
  }
  return {};
}

}  // namespace

Status read_pattern(const Node& node, std::string& pattern, bool& is_regex) {
  if (const Node& text = member(node, "String"); text.is_string()) {
    pattern = text.get<std::string>();
    is_regex = false;
    return {};
  }
  if (const Node& text = member(node, "Regex"); text.is_string()) {
    pattern = text.get<std::string>();
    is_regex = true;
    return {};
  }
  if (node.is_string()) {
    pattern = node.get<std::string>();
    is_regex = false;
    return {};
  }
  return bad_json("a pattern is missing", R"({"String": ...} or {"Regex": ...})");
}

Result<TokenizerSpec> read_tokenizer_json(std::string_view tokenizer_json,
                                          std::string_view config_json) {
  TROUPE_ASSIGN(const Node root, parse(tokenizer_json, "tokenizer.json"));
  TokenizerSpec spec;
  const Node& model = member(root, "model");
  if (!model.is_object()) return bad_json("there is no model", "an object \"model\"");
  TROUPE_TRY(read_model(model, spec));
  TROUPE_TRY(read_added(member(root, "added_tokens"), spec));
  TROUPE_TRY(read_normalizer(member(root, "normalizer"), spec));
  TROUPE_TRY(read_pre_tokenizer(member(root, "pre_tokenizer"), spec));
  TROUPE_TRY(read_post_processor(member(root, "post_processor"), spec));
  if (member(root, "decoder").is_null()) {
    spec.decode.words_apart = true;
  } else {
    TROUPE_TRY(read_decoder(member(root, "decoder"), spec));
  }
  if (!spec.prefix_ids.empty()) spec.bos_id = spec.prefix_ids.front();
  if (!config_json.empty()) {
    TROUPE_ASSIGN(const Node config, parse(config_json, "tokenizer_config.json"));
    const int32_t bos = id_of_text(spec, token_text(member(config, "bos_token")));
    if (bos >= 0) spec.bos_id = bos;
    spec.eos_id = id_of_text(spec, token_text(member(config, "eos_token")));
    spec.chat_template = template_of(member(config, "chat_template"));
  }
  add_stop_tokens(spec);
  return spec;
}

}  // namespace troupe::text
