// The merges of a vocabulary by ids, and what tokens are as text.
#include <algorithm>
#include <functional>
#include <utility>

#include "base/concat.hpp"
#include "text/byte_alphabet.hpp"
#include "text/text_limits.hpp"
#include "text/tokenizer.hpp"
#include "text/tokenizer_parts.hpp"

namespace troupe::text {

namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

/// Hugging Face's clean_up_tokenization, which looks at one token at a time.
void clean_up(std::string& text) {
  constexpr std::pair<std::string_view, std::string_view> changes[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : changes) replace_all(text, from, to);
}

/// Dense ranks of scores: the highest is 0.
std::vector<uint32_t> ranks_of(const std::vector<float>& scores) {
  std::vector<float> sorted = scores;
  std::ranges::sort(sorted, std::greater<>());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<uint32_t> ranks;
  ranks.reserve(scores.size());
  for (const float score : scores) {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), score, std::greater<>());
    ranks.push_back(static_cast<uint32_t>(at - sorted.begin()));
  }
  return ranks;
}

}  // namespace

std::string decoded_token(const DecodeRules& rules, std::string_view token, TokenType type) {
  if (type == TokenType::byte && rules.byte_tokens) {
    if (const auto byte = byte_of_spelling(token)) return std::string(1, static_cast<char>(*byte));
  }
  if (type == TokenType::unknown && !rules.unknown_text.empty()) return rules.unknown_text;
  if (rules.byte_level) {
    const std::optional<std::string> bytes = spelling_to_bytes(token);
    return bytes ? *bytes : std::string(token);
  }
  std::string text(token);
  if (!rules.space.empty()) replace_all(text, rules.space, " ");
  if (rules.words_apart) {
    const std::string& prefix = rules.continuing_prefix;
    text = !prefix.empty() && text.starts_with(prefix) ? text.substr(prefix.size()) : " " + text;
  }
  if (rules.clean_up) clean_up(text);
  if (!rules.word_suffix.empty() && text.ends_with(rules.word_suffix)) {
    text.resize(text.size() - rules.word_suffix.size());
    text += ' ';
  }
  return text;
}

Status Tokenizer::load_merges(const TokenizerSpec& spec) {
  load_space_cuts(spec);
  if (spec.merge_order != MergeOrder::list) {
    TROUPE_ASSIGN(const auto found, merges_of_tokens(spec));
    merges_ = MergeTable(found);
    return {};
  }
  std::vector<Merge> merges;
  merges.reserve(spec.merges.size());
  std::string joined;
  for (size_t rank = 0; rank < spec.merges.size(); ++rank) {
    const std::string& left = spec.merges[rank].left;
    std::string_view tail = spec.merges[rank].right;
    if (!continuing_prefix_.empty() && tail.starts_with(continuing_prefix_)) {
      tail.remove_prefix(continuing_prefix_.size());
    }
    joined.assign(left).append(tail);
    const Merge one{find_spelling(left), find_spelling(spec.merges[rank].right),
                    find_spelling(joined), static_cast<uint32_t>(rank)};
    if (one.left < 0 || one.right < 0 || one.result < 0) {
      const std::string_view missing = one.left < 0    ? left
                                       : one.right < 0 ? spec.merges[rank].right
                                                       : joined;
      return bad_tokenizer(concat("merge ", rank, " needs the token ", quoted_token(missing),
                                  ", which is not in the vocabulary"));
    }
    merges.push_back(one);
  }
  merges_ = MergeTable(merges);
  return {};
}

Result<std::vector<Merge>> Tokenizer::merges_of_tokens(const TokenizerSpec& spec) const {
  const bool bytewise = kind_ == TokenizerKind::byte_level_bpe;
  const bool by_score = spec.merge_order == MergeOrder::scores;
  const std::vector<uint32_t> ranks = by_score ? ranks_of(spec.scores) : std::vector<uint32_t>();
  const auto find = [&](std::string_view part) {
    const auto& names = bytewise ? by_bytes_ : by_spelling_;
    const auto found = names.find(part);
    if (found == names.end()) return -1;
    const TokenType type = types_[static_cast<size_t>(found->second)];
    const bool usable =
        type == TokenType::normal || type == TokenType::user_defined || type == TokenType::unused;
    return usable ? found->second : -1;
  };
  std::vector<Merge> merges;
  size_t work = 0;
  for (int32_t id = 0; id < size(); ++id) {
    const std::string_view token = bytewise ? bytes_.at(id) : spellings_.at(id);
    if (find(token) != id) continue;
    work += token.size() * token.size();
    if (work > limits::merge_work_max) {
      return error(
          Code::exhausted, "tokenizer: its tokens are too long to find their merges",
          concat("the squares of their lengths add up to at most ", limits::merge_work_max));
    }
    const uint32_t rank = by_score ? ranks[static_cast<size_t>(id)] : static_cast<uint32_t>(id);
    for (size_t cut = 1; cut < token.size(); ++cut) {
      if (!bytewise && (static_cast<uint8_t>(token[cut]) & 0xc0) == 0x80) continue;
      const int32_t left = find(token.substr(0, cut));
      const int32_t right = left < 0 ? -1 : find(token.substr(cut));
      if (right >= 0) merges.push_back({left, right, id, rank});
    }
  }
  return merges;
}

void Tokenizer::load_space_cuts(const TokenizerSpec& spec) {
  constexpr std::string_view space = "\u2581";
  const bool plain = spec.kind == TokenizerKind::bpe && continuing_prefix_.empty() &&
                     word_suffix_.empty() && !ignore_merges_ && find_spelling(space) >= 0;
  cuts_before_space_.fill(plain);
  if (!plain) return;
  for (const std::string& token : spec.tokens) {
    for (size_t at = token.find(space, 1); at != std::string::npos;
         at = token.find(space, at + 1)) {
      cuts_before_space_[static_cast<uint8_t>(token[at - 1])] = false;
    }
  }
}

}  // namespace troupe::text
