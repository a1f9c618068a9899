// The "model" of tokenizer.json: vocabulary, merges, scores.
#include "text/text_limits.hpp"
#include "text/tokenizer_json_parts.hpp"
#include "text/tokenizer_parts.hpp"

namespace troupe::text {

namespace {

/// {token: id}; ids that are missing are unused.
Status read_vocabulary(const Node& vocab, TokenizerSpec& spec) {
  if (!vocab.is_object()) return bad_json("the model has no vocabulary", "an object \"vocab\"");
  for (const auto& [token, node] : vocab.items()) {
    const int64_t id = node.is_number_integer() ? node.get<int64_t>() : -1;
    if (id < 0 || static_cast<size_t>(id) >= limits::vocabulary_max) {
      return bad_json(concat("token ", quoted_token(token), " has no id in range"),
                      concat("ids are 0 to ", limits::vocabulary_max - 1));
    }
    const size_t place = static_cast<size_t>(id);
    if (place >= spec.tokens.size()) {
      spec.tokens.resize(place + 1);
      spec.types.resize(place + 1, TokenType::unused);
    }
    spec.tokens[place] = token;
    spec.types[place] = TokenType::normal;
  }
  return {};
}

/// [[token, score], ...]
Status read_scored_vocabulary(const Node& vocab, TokenizerSpec& spec) {
  if (!vocab.is_array()) return bad_json("the model has no vocabulary", "a list \"vocab\"");
  if (vocab.size() > limits::vocabulary_max) {
    return bad_json(concat("the vocabulary has ", vocab.size(), " tokens"),
                    concat("at most ", limits::vocabulary_max));
  }
  for (const Node& entry : vocab) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number()) {
      return bad_json(concat("entry ", spec.tokens.size(), " of the vocabulary is malformed"),
                      "[token, score]");
    }
    spec.tokens.push_back(entry[0].get<std::string>());
    spec.exact_scores.push_back(entry[1].get<double>());
  }
  spec.types.assign(spec.tokens.size(), TokenType::normal);
  return {};
}

Status read_merges(const Node& merges, TokenizerSpec& spec) {
  if (merges.is_null()) return {};
  if (!merges.is_array()) return bad_json("merges is no list");
  if (merges.size() > limits::merges_max) {
    return bad_json(concat("there are ", merges.size(), " merges"),
                    concat("at most ", limits::merges_max));
  }
  spec.merges.reserve(merges.size());
  for (const Node& merge : merges) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      spec.merges.push_back({merge[0].get<std::string>(), merge[1].get<std::string>()});
      continue;
    }
    const std::string text = merge.is_string() ? merge.get<std::string>() : std::string();
    const size_t space = text.find(' ');
    if (space == std::string::npos || space == 0 || space + 1 == text.size()) {
      return bad_json(concat("merge ", spec.merges.size(), " is ", quoted_token(text)),
                      "two tokens, as a list or with a space between");
    }
    spec.merges.push_back({text.substr(0, space), text.substr(space + 1)});
  }
  return {};
}

void mark_byte_tokens(TokenizerSpec& spec) {
  if (!spec.byte_fallback) return;
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    if (byte_of_spelling(spec.tokens[i])) spec.types[i] = TokenType::byte;
  }
}

int32_t id_of_token(const Node& vocab, const std::string& token) {
  if (token.empty() || !vocab.is_object()) return -1;
  return static_cast<int32_t>(number_of(vocab, token.c_str(), -1));
}

std::string kind_of(const Node& model) {
  const std::string kind = text_of(model, "type");
  if (!kind.empty()) return kind;
  if (member(model, "vocab").is_array()) return "Unigram";
  return member(model, "merges").is_array() ? "BPE" : "WordPiece";
}

}  // namespace

Status read_model(const Node& model, TokenizerSpec& spec) {
  const std::string kind = kind_of(model);
  const Node& vocab = member(model, "vocab");
  if (kind == "Unigram") {
    spec.kind = TokenizerKind::unigram;
    TROUPE_TRY(read_scored_vocabulary(vocab, spec));
    spec.unknown_id = static_cast<int32_t>(number_of(model, "unk_id", -1));
    spec.byte_fallback = flag_of(model, "byte_fallback", false);
    mark_byte_tokens(spec);
    return {};
  }
  if (kind != "BPE" && kind != "WordPiece") {
    return unknown_part("model", kind, "BPE, Unigram, WordPiece");
  }
  TROUPE_TRY(read_vocabulary(vocab, spec));
  spec.unknown_id = id_of_token(vocab, text_of(model, "unk_token"));
  if (kind == "WordPiece") {
    spec.kind = TokenizerKind::word_piece;
    spec.continuing_prefix = text_of(model, "continuing_subword_prefix", "##");
    const int64_t characters = number_of(model, "max_input_chars_per_word", 100);
    spec.word_characters_max = static_cast<uint32_t>(
        std::clamp<int64_t>(characters, 1, static_cast<int64_t>(limits::prompt_bytes_max)));
    return {};
  }
  spec.kind = TokenizerKind::bpe;
  spec.byte_fallback = flag_of(model, "byte_fallback", false);
  spec.fuse_unknown = flag_of(model, "fuse_unk", false);
  spec.ignore_merges = flag_of(model, "ignore_merges", false);
  spec.continuing_prefix = text_of(model, "continuing_subword_prefix");
  spec.word_suffix = text_of(model, "end_of_word_suffix");
  mark_byte_tokens(spec);
  return read_merges(member(model, "merges"), spec);
}

}  // namespace troupe::text
