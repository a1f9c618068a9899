#include "text/tekken.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "text/base64.hpp"
#include "text/byte_alphabet.hpp"
#include "text/stop_tokens.hpp"
#include "text/text_limits.hpp"

namespace troupe::text {

namespace {

using Node = nlohmann::json;

/// What the first ids mean in files that do not list their special tokens.
constexpr std::array<std::string_view, 20> default_special = {"<unk>",
                                                              "<s>",
                                                              "</s>",
                                                              "[INST]",
                                                              "[/INST]",
                                                              "[AVAILABLE_TOOLS]",
                                                              "[/AVAILABLE_TOOLS]",
                                                              "[TOOL_RESULTS]",
                                                              "[/TOOL_RESULTS]",
                                                              "[TOOL_CALLS]",
                                                              "[IMG]",
                                                              "<pad>",
                                                              "[IMG_BREAK]",
                                                              "[IMG_END]",
                                                              "[PREFIX]",
                                                              "[MIDDLE]",
                                                              "[SUFFIX]",
                                                              "[SYSTEM_PROMPT]",
                                                              "[/SYSTEM_PROMPT]",
                                                              "[TOOL_CONTENT]"};

Error bad_tekken(std::string what, std::string hint = {}) {
  return error(Code::corrupt, "tekken.json: " + std::move(what), std::move(hint));
}

/// A count in `config` that is not above `most`.
Result<size_t> count_of(const Node& config, const char* name, size_t most) {
  const auto found = config.find(name);
  if (found == config.end() || !found->is_number_unsigned() || found->get<uint64_t>() > most) {
    return bad_tekken(concat("config.", name, " is missing or too large"),
                      concat("a number from 0 to ", most));
  }
  return static_cast<size_t>(found->get<uint64_t>());
}

Status add_special(const Node& root, size_t count, TokenizerSpec& spec) {
  for (size_t i = 0; i < count; ++i) {
    spec.tokens.push_back(i < default_special.size() ? std::string(default_special[i])
                                                     : concat("<SPECIAL_", i, ">"));
  }
  spec.types.assign(count, TokenType::control);
  const auto listed = root.find("special_tokens");
  if (listed == root.end() || !listed->is_array()) return {};
  for (const Node& token : *listed) {
    const bool shaped = token.is_object() && token.contains("rank") &&
                        token.contains("token_str") && token["rank"].is_number_unsigned() &&
                        token["token_str"].is_string();
    if (!shaped || token["rank"].get<uint64_t>() >= count) {
      return bad_tekken("a special token is malformed",
                        concat("{rank, token_str} with a rank below ", count));
    }
    const std::string text = token["token_str"].get<std::string>();
    if (text.empty()) return bad_tekken("a special token has no text");
    spec.tokens[token["rank"].get<size_t>()] = text;
  }
  return {};
}

Status add_ranked(const Node& vocab, size_t count, TokenizerSpec& spec) {
  for (size_t rank = 0; rank < count; ++rank) {
    const Node& entry = vocab[rank];
    const auto bytes = entry.is_object() ? entry.find("token_bytes") : entry.end();
    if (!entry.is_object() || bytes == entry.end() || !bytes->is_string() ||
        entry.value("rank", Node()) != rank) {
      return bad_tekken(concat("token ", rank, " is malformed"),
                        "{rank, token_bytes} in order of rank");
    }
    const Result<std::string> decoded = from_base64(bytes->get_ref<const std::string&>());
    if (!decoded.ok() || decoded->empty()) {
      return bad_tekken(concat("token ", rank, " has no bytes"), "base64");
    }
    spec.tokens.push_back(bytes_to_spelling(*decoded));
    spec.types.push_back(TokenType::normal);
  }
  return {};
}

}  // namespace

Result<TokenizerSpec> read_tekken(std::string_view json) {
  if (json.size() > limits::tokenizer_file_bytes_max) {
    return error(Code::exhausted, concat("tekken.json has ", json.size(), " bytes"),
                 concat("at most ", limits::tokenizer_file_bytes_max));
  }
  const Node root = Node::parse(json, nullptr, false);
  if (!root.is_object()) return bad_tekken("it is no JSON object");
  const Node config = root.value("config", Node());
  const Node none;
  const auto found = root.find("vocab");
  const Node& vocab = found == root.end() ? none : *found;
  if (!config.is_object() || !vocab.is_array()) {
    return bad_tekken("it has no config or no vocab", "an object and a list");
  }
  const auto pattern = config.find("pattern");
  if (pattern == config.end() || !pattern->is_string())
    return bad_tekken("config.pattern is missing");
  TROUPE_ASSIGN(const size_t special,
                count_of(config, "default_num_special_tokens", limits::vocabulary_max));
  TROUPE_ASSIGN(const size_t total, count_of(config, "default_vocab_size", limits::vocabulary_max));
  if (total < special || total - special > vocab.size()) {
    return bad_tekken(concat("there are ", vocab.size(), " tokens for a vocabulary of ", total,
                             " with ", special, " special ones"));
  }
  TokenizerSpec spec;
  spec.merge_order = MergeOrder::ids;
  spec.ignore_merges = true;
  PreStep words;
  words.pattern = pattern->get<std::string>();
  spec.pre_steps.push_back(std::move(words));
  TROUPE_TRY(add_special(root, special, spec));
  TROUPE_TRY(add_ranked(vocab, total - special, spec));
  const auto id_of = [&](std::string_view text) {
    const auto at = std::ranges::find(spec.tokens, text);
    return at == spec.tokens.end() ? -1 : static_cast<int32_t>(at - spec.tokens.begin());
  };
  spec.unknown_id = id_of("<unk>");
  spec.bos_id = id_of("<s>");
  spec.eos_id = id_of("</s>");
  spec.add_bos = spec.bos_id >= 0;
  add_stop_tokens(spec);
  return spec;
}

}  // namespace troupe::text
