// Builds a Tokenizer from its spec and says what is wrong with the spec.
#include <algorithm>

#include "base/concat.hpp"
#include "text/byte_alphabet.hpp"
#include "text/text_limits.hpp"
#include "text/tokenizer.hpp"
#include "text/utf8.hpp"

namespace troupe::text {

namespace {

Error bad(std::string what, std::string hint = {}) {
  return error(Code::invalid_argument, "tokenizer: " + std::move(what), std::move(hint));
}

bool is_literal(TokenType type) {
  return type == TokenType::control || type == TokenType::user_defined ||
         type == TokenType::unknown;
}

/// Shortened and repaired, so that a message never carries a megabyte or broken UTF-8.
std::string quoted(std::string_view text) {
  constexpr size_t shown_max = 40;
  std::string shown = replace_invalid_utf8(text.substr(0, shown_max));
  return "'" + shown + (text.size() > shown_max ? "...'" : "'");
}

Status check_sizes(const TokenizerSpec& spec) {
  if (spec.tokens.empty()) return bad("the vocabulary is empty");
  if (spec.tokens.size() > limits::vocabulary_max) {
    return bad(concat("the vocabulary has ", spec.tokens.size(), " tokens"),
               concat("at most ", limits::vocabulary_max));
  }
  if (spec.types.size() != spec.tokens.size()) {
    return bad(
        concat("there are ", spec.types.size(), " token types for ", spec.tokens.size(), " tokens"),
        "one type for each token");
  }
  if (spec.merges.size() > limits::merges_max) {
    return bad(concat("there are ", spec.merges.size(), " merges"),
               concat("at most ", limits::merges_max));
  }
  return {};
}

Status check_id(std::string_view name, int32_t id, size_t size) {
  if (id >= -1 && (id < 0 || static_cast<size_t>(id) < size)) return {};
  return bad(concat("the ", name, " id ", id, " is not in the vocabulary"),
             concat("ids are 0 to ", size - 1, ", -1 for none"));
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::make(const TokenizerSpec& spec) {
  TROUPE_TRY(check_sizes(spec));
  std::shared_ptr<Tokenizer> made(new Tokenizer);
  made->split_ = find_pre_tokenizer(spec.pre_tokenizer);
  if (made->split_ == nullptr) {
    return error(
        Code::unsupported,
        concat("tokenizer: the pre-tokenizer ", quoted(spec.pre_tokenizer), " is not supported"),
        "supported are " + pre_tokenizer_names());
  }
  TROUPE_TRY(made->load_tokens(spec));
  TROUPE_TRY(made->load_merges(spec));
  TROUPE_TRY(made->load_special(spec));
  return std::shared_ptr<const Tokenizer>(std::move(made));
}

Status Tokenizer::load_tokens(const TokenizerSpec& spec) {
  types_ = spec.types;
  offsets_.reserve(spec.tokens.size() + 1);
  offsets_.push_back(0);
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    const std::string& token = spec.tokens[i];
    if (token.size() > limits::token_bytes_max) {
      return bad(concat("token ", i, " has ", token.size(), " bytes"),
                 concat("at most ", limits::token_bytes_max));
    }
    if (spec.types[i] < TokenType::normal || spec.types[i] > TokenType::byte) {
      return bad(concat("token ", i, " has type ", static_cast<int>(spec.types[i])),
                 "types are 1 to 6");
    }
    if (token.empty() && is_literal(spec.types[i])) {
      return bad(concat("token ", i, " is special and has no text"));
    }
    const std::optional<std::string> bytes =
        is_literal(spec.types[i]) ? std::nullopt : spelling_to_bytes(token);
    bytes_ += bytes ? *bytes : token;
    offsets_.push_back(bytes_.size());
  }
  // Only now does bytes_ stay where it is, as the keys need.
  for (int32_t id = 0; id < size(); ++id) {
    if (!is_literal(types_[static_cast<size_t>(id)])) continue;
    by_bytes_.emplace(token_bytes(id), id);
  }
  for (int32_t id = 0; id < size(); ++id) {
    if (!is_literal(types_[static_cast<size_t>(id)])) by_bytes_.emplace(token_bytes(id), id);
  }
  return {};
}

Status Tokenizer::load_merges(const TokenizerSpec& spec) {
  std::unordered_map<std::string_view, int32_t> by_spelling;
  for (int32_t id = 0; id < size(); ++id) {
    const std::string& token = spec.tokens[static_cast<size_t>(id)];
    const auto [other, added] = by_spelling.emplace(token, id);
    if (!added) {
      return bad(concat("tokens ", other->second, " and ", id, " are both ", quoted(token)));
    }
  }
  const auto find = [&](std::string_view token) {
    const auto found = by_spelling.find(token);
    return found == by_spelling.end() ? -1 : found->second;
  };
  for (int byte = 0; byte < 256; ++byte) {
    std::string spelling;
    append_utf8(spelling, byte_to_character(static_cast<uint8_t>(byte)));
    byte_ids_[static_cast<size_t>(byte)] = find(spelling);
  }
  std::vector<Merge> merges;
  merges.reserve(spec.merges.size());
  for (size_t rank = 0; rank < spec.merges.size(); ++rank) {
    const std::string_view merge = spec.merges[rank];
    // A spelling never holds a space, so the separator is the first one after the first byte.
    const size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos || space + 1 >= merge.size()) {
      return bad(concat("merge ", rank, " is ", quoted(merge)), "two tokens with a space between");
    }
    const std::string_view left = merge.substr(0, space);
    const std::string_view right = merge.substr(space + 1);
    const std::string joined = concat(left, right);
    const Merge one{find(left), find(right), find(joined)};
    if (one.left < 0 || one.right < 0 || one.result < 0) {
      const std::string_view missing = one.left < 0 ? left : one.right < 0 ? right : joined;
      return bad(concat("merge ", rank, " needs the token ", quoted(missing),
                        ", which is not in the vocabulary"));
    }
    merges.push_back(one);
  }
  merges_ = MergeTable(merges);
  return {};
}

Status Tokenizer::load_special(const TokenizerSpec& spec) {
  for (int32_t id = 0; id < size(); ++id) {
    const TokenType type = types_[static_cast<size_t>(id)];
    if (type == TokenType::user_defined) user_defined_.add(token_bytes(id), id);
    if (type == TokenType::user_defined || type == TokenType::control) {
      special_.add(token_bytes(id), id);
    }
  }
  TROUPE_TRY(check_id("BOS", spec.bos_id, spec.tokens.size()));
  TROUPE_TRY(check_id("EOS", spec.eos_id, spec.tokens.size()));
  TROUPE_TRY(check_id("unknown-token", spec.unknown_id, spec.tokens.size()));
  for (const int32_t id : spec.stop_ids) {
    if (!contains(id)) {
      return bad(concat("the stop id ", id, " is not in the vocabulary"),
                 concat("ids are 0 to ", size() - 1));
    }
  }
  if (spec.add_bos && spec.bos_id < 0) return bad("BOS is to be added, but no BOS id is given");
  if (spec.add_eos && spec.eos_id < 0) return bad("EOS is to be added, but no EOS id is given");
  bos_id_ = spec.bos_id;
  eos_id_ = spec.eos_id;
  add_bos_ = spec.add_bos;
  add_eos_ = spec.add_eos;
  stop_ids_ = spec.stop_ids;
  return {};
}

}  // namespace troupe::text
