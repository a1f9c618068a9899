#include "text/word_piece.hpp"

#include "text/utf8.hpp"

namespace troupe::text {

WordPieceModel::WordPieceModel(const TokenizerSpec& spec)
    : characters_max_(spec.word_characters_max), unknown_id_(spec.unknown_id) {
  const std::string& prefix = spec.continuing_prefix;
  std::vector<bool> outside(spec.tokens.size());
  for (const AddedToken& added : spec.added) {
    if (added.outside) outside[static_cast<size_t>(added.id)] = true;
  }
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    const std::string_view token = spec.tokens[i];
    if (outside[i] || token.empty() || first_invalid_utf8(token)) continue;
    heads_.add(token, static_cast<int32_t>(i));
    if (token.size() > prefix.size() && token.starts_with(prefix)) {
      tails_.add(token.substr(prefix.size()), static_cast<int32_t>(i));
    }
  }
}

void WordPieceModel::append_word(std::string_view word, std::vector<int32_t>& ids) const {
  const size_t before = ids.size();
  const bool too_long =
      characters_max_ > 0 && word.size() > characters_max_ && utf8_length(word) > characters_max_;
  for (size_t at = 0; !too_long && at < word.size();) {
    const TokenTrie::Match match = (at == 0 ? heads_ : tails_).longest_at(word, at);
    if (match.id < 0) {
      ids.resize(before);
      break;
    }
    ids.push_back(match.id);
    at += match.bytes;
  }
  if (ids.size() == before && unknown_id_ >= 0) ids.push_back(unknown_id_);
}

}  // namespace troupe::text
