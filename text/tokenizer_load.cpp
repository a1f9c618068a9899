// Builds a Tokenizer from its spec and says what is wrong with the spec.
#include <algorithm>

#include "base/concat.hpp"
#include "text/byte_alphabet.hpp"
#include "text/pre_tokenizer.hpp"
#include "text/text_limits.hpp"
#include "text/tokenizer_parts.hpp"
#include "text/tokenizer_scratch.hpp"
#include "text/utf8.hpp"

namespace troupe::text {

namespace {

Status check_sizes(const TokenizerSpec& spec) {
  if (spec.tokens.empty()) return bad_tokenizer("the vocabulary is empty");
  if (spec.tokens.size() > limits::vocabulary_max) {
    return bad_tokenizer(concat("the vocabulary has ", spec.tokens.size(), " tokens"),
                         concat("at most ", limits::vocabulary_max));
  }
  if (spec.types.size() != spec.tokens.size()) {
    return bad_tokenizer(
        concat("there are ", spec.types.size(), " token types for ", spec.tokens.size(), " tokens"),
        "one type for each token");
  }
  if (spec.merges.size() > limits::merges_max) {
    return bad_tokenizer(concat("there are ", spec.merges.size(), " merges"),
                         concat("at most ", limits::merges_max));
  }
  const bool wanted = spec.exact_scores.empty() && (spec.kind == TokenizerKind::unigram ||
                                                    spec.merge_order == MergeOrder::scores);
  if ((wanted && spec.scores.size() != spec.tokens.size()) ||
      spec.exact_scores.size() > spec.tokens.size()) {
    return bad_tokenizer(
        concat("there are ", std::max(spec.scores.size(), spec.exact_scores.size()), " scores for ",
               spec.tokens.size(), " tokens"),
        "one score for each token");
  }
  return {};
}

Status check_id(std::string_view name, int32_t id, size_t size) {
  if (id >= -1 && (id < 0 || static_cast<size_t>(id) < size)) return {};
  return bad_tokenizer(concat("the ", name, " id ", id, " is not in the vocabulary"),
                       concat("ids are 0 to ", size - 1, ", -1 for none"));
}

Status check_ids(std::string_view name, const std::vector<int32_t>& ids, size_t size) {
  for (const int32_t id : ids) {
    if (id < 0 || static_cast<size_t>(id) >= size) {
      return bad_tokenizer(concat("the ", name, " id ", id, " is not in the vocabulary"),
                           concat("ids are 0 to ", size - 1));
    }
  }
  return {};
}

}  // namespace

Error bad_tokenizer(std::string what, std::string hint) {
  return error(Code::invalid_argument, "tokenizer: " + std::move(what), std::move(hint));
}

std::string quoted_token(std::string_view text) {
  constexpr size_t shown_max = 40;
  std::string shown = replace_invalid_utf8(text.substr(0, shown_max));
  return "'" + shown + (text.size() > shown_max ? "...'" : "'");
}

bool is_literal(TokenType type) {
  return type == TokenType::control || type == TokenType::user_defined ||
         type == TokenType::unknown;
}

std::optional<uint8_t> byte_of_spelling(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || spelling[5] != '>') {
    return std::nullopt;
  }
  int value = 0;
  for (const char digit : spelling.substr(3, 2)) {
    const int d = digit >= '0' && digit <= '9'   ? digit - '0'
                  : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                                 : -1;
    if (d < 0) return std::nullopt;
    value = value * 16 + d;
  }
  return static_cast<uint8_t>(value);
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::make(const TokenizerSpec& spec) {
  TROUPE_TRY(check_sizes(spec));
  std::shared_ptr<Tokenizer> made(new Tokenizer);
  TROUPE_TRY(made->load(spec));
  return std::shared_ptr<const Tokenizer>(std::move(made));
}

Status Tokenizer::load(const TokenizerSpec& spec) {
  kind_ = spec.kind;
  decode_ = spec.decode;
  if (kind_ == TokenizerKind::byte_level_bpe) decode_.byte_level = true;
  continuing_prefix_ = spec.continuing_prefix;
  word_suffix_ = spec.word_suffix;
  ignore_merges_ = spec.ignore_merges;
  byte_fallback_ = spec.byte_fallback;
  fuse_unknown_ = spec.fuse_unknown;
  TROUPE_TRY(load_tokens(spec));
  TROUPE_TRY(load_special(spec));
  load_symbols(spec);
  NormalContents contents;
  TROUPE_TRY(load_steps(spec, contents));
  load_bytes(spec, contents);
  switch (kind_) {
    case TokenizerKind::unigram:
      unigram_ = UnigramModel(spec);
      return {};
    case TokenizerKind::word_piece:
      word_piece_ = WordPieceModel(spec);
      return {};
    default:
      return load_merges(spec);
  }
}

Status Tokenizer::load_tokens(const TokenizerSpec& spec) {
  types_ = spec.types;
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    const std::string& token = spec.tokens[i];
    if (token.size() > limits::token_bytes_max) {
      return bad_tokenizer(concat("token ", i, " has ", token.size(), " bytes"),
                           concat("at most ", limits::token_bytes_max));
    }
    if (spec.types[i] < TokenType::normal || spec.types[i] > TokenType::byte) {
      return bad_tokenizer(concat("token ", i, " has type ", static_cast<int>(spec.types[i])),
                           "types are 1 to 6");
    }
    if (token.empty() && is_literal(spec.types[i])) {
      return bad_tokenizer(concat("token ", i, " is special and has no text"));
    }
    spellings_.add(token);
    if (spellings_.bytes.size() > limits::vocabulary_bytes_max) {
      return bad_tokenizer("the vocabulary is too long",
                           concat("at most ", limits::vocabulary_bytes_max, " bytes"));
    }
  }
  // Only now do the strings stay where they are, as the keys need.
  for (const bool literal : {false, true}) {
    for (int32_t id = 0; id < size(); ++id) {
      if (is_literal(types_[static_cast<size_t>(id)]) != literal) continue;
      by_spelling_.emplace(spellings_.at(id), id);
    }
  }
  return {};
}

void Tokenizer::load_bytes(const TokenizerSpec& spec, const NormalContents& contents) {
  for (int32_t id = 0; id < size(); ++id) {
    const auto normal = contents.find(id);
    const std::string_view text =
        normal != contents.end() ? std::string_view(normal->second) : spellings_.at(id);
    bytes_.add(decoded_token(decode_, text, spec.types[static_cast<size_t>(id)]));
  }
  for (const bool literal : {true, false}) {
    for (int32_t id = 0; id < size(); ++id) {
      if (is_literal(types_[static_cast<size_t>(id)]) != literal) continue;
      by_bytes_.emplace(literal ? spellings_.at(id) : bytes_.at(id), id);
    }
  }
}

int32_t Tokenizer::find_spelling(std::string_view spelling) const {
  const auto found = by_spelling_.find(spelling);
  return found == by_spelling_.end() ? -1 : found->second;
}

void Tokenizer::load_symbols(const TokenizerSpec& spec) {
  byte_ids_.fill(-1);
  if (kind_ == TokenizerKind::byte_level_bpe) {
    for (int byte = 0; byte < 256; ++byte) {
      byte_ids_[static_cast<size_t>(byte)] =
          find_spelling(bytes_to_spelling(std::string(1, static_cast<char>(byte))));
    }
    return;
  }
  for (int32_t id = 0; id < size(); ++id) {
    const std::string& token = spec.tokens[static_cast<size_t>(id)];
    const TokenType type = types_[static_cast<size_t>(id)];
    if (type == TokenType::byte) {
      if (const auto byte = byte_of_spelling(token)) byte_ids_[*byte] = id;
    } else if (!token.empty() && type != TokenType::control) {
      const Utf8Step step = utf8_step(token, 0);
      if (step.valid && step.bytes == token.size()) character_ids_.emplace(step.code_point, id);
    }
  }
}

Status Tokenizer::load_steps(const TokenizerSpec& spec, NormalContents& contents) {
  std::vector<NormalStep> normal_steps = spec.normal_steps;
  std::vector<PreStep> pre_steps = spec.pre_steps;
  if (!spec.pre_tokenizer.empty()) {
    const NamedPreTokenizer* named = find_pre_tokenizer(spec.pre_tokenizer);
    if (named == nullptr) {
      return error(Code::unsupported,
                   concat("tokenizer: the pre-tokenizer ", quoted_token(spec.pre_tokenizer),
                          " is not supported"),
                   "supported are " + pre_tokenizer_names());
    }
    pre_steps = steps_of(*named);
    ignore_merges_ = ignore_merges_ || named->ignore_merges;
    if (named->nfc) normal_steps.insert(normal_steps.begin(), NormalStep{});
  }
  std::vector<std::string> kept;
  for (size_t i = 0; spec.user_defined_frozen && i < spec.tokens.size(); ++i) {
    if (spec.types[i] == TokenType::user_defined) kept.push_back(spec.tokens[i]);
  }
  TROUPE_ASSIGN(normalizer_, Normalizer::make(normal_steps, kept));
  TROUPE_ASSIGN(pre_tokenizer_, PreTokenizer::make(pre_steps));
  return load_added(spec, contents);
}

Status Tokenizer::load_added(const TokenizerSpec& spec, NormalContents& contents) {
  std::vector<AddedToken> flags(spec.tokens.size());
  for (const AddedToken& token : spec.added) {
    if (!contains(token.id)) {
      return bad_tokenizer(concat("the added token's id ", token.id, " is not in the vocabulary"),
                           concat("ids are 0 to ", size() - 1));
    }
    flags[static_cast<size_t>(token.id)] = token;
  }
  RegexScratch scratch;
  for (int32_t id = 0; id < size(); ++id) {
    const TokenType type = types_[static_cast<size_t>(id)];
    if (!is_literal(type)) continue;
    const bool control = type != TokenType::user_defined;
    AddedToken token = flags[static_cast<size_t>(id)];
    token.id = id;
    if (spec.user_defined_frozen && !control) {
      if (kind_ == TokenizerKind::bpe) added_normal_.add(spellings_.at(id), token, false);
      continue;
    }
    if (!token.normalized || normalizer_.empty()) {
      added_.add(spellings_.at(id), token, control);
      continue;
    }
    std::string content(spellings_.at(id));
    if (first_invalid_utf8(content)) continue;
    TROUPE_TRY(normalizer_.run(content, scratch));
    added_normal_.add(content, token, control);
    contents.emplace(id, std::move(content));
    normal_control_ = normal_control_ || control;
  }
  return {};
}

Status Tokenizer::load_special(const TokenizerSpec& spec) {
  TROUPE_TRY(check_id("BOS", spec.bos_id, spec.tokens.size()));
  TROUPE_TRY(check_id("EOS", spec.eos_id, spec.tokens.size()));
  TROUPE_TRY(check_id("unknown-token", spec.unknown_id, spec.tokens.size()));
  TROUPE_TRY(check_ids("stop", spec.stop_ids, spec.tokens.size()));
  TROUPE_TRY(check_ids("prefix", spec.prefix_ids, spec.tokens.size()));
  TROUPE_TRY(check_ids("suffix", spec.suffix_ids, spec.tokens.size()));
  if (spec.add_bos && spec.bos_id < 0) {
    return bad_tokenizer("BOS is to be added, but no BOS id is given");
  }
  if (spec.add_eos && spec.eos_id < 0) {
    return bad_tokenizer("EOS is to be added, but no EOS id is given");
  }
  bos_id_ = spec.bos_id;
  eos_id_ = spec.eos_id;
  unknown_id_ = spec.unknown_id;
  prefix_ids_ = spec.prefix_ids;
  suffix_ids_ = spec.suffix_ids;
  if (prefix_ids_.empty() && spec.add_bos) prefix_ids_ = {bos_id_};
  if (suffix_ids_.empty() && spec.add_eos) suffix_ids_ = {eos_id_};
  stop_ids_ = spec.stop_ids;
  return {};
}

}  // namespace troupe::text
