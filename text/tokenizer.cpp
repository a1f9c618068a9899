#include "text/tokenizer.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "text/text_limits.hpp"
#include "text/utf8.hpp"

namespace troupe::text {

std::string_view Tokenizer::token_bytes(int32_t id) const {
  if (!contains(id)) return {};
  const size_t i = static_cast<size_t>(id);
  return std::string_view(bytes_).substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
}

std::optional<int32_t> Tokenizer::id_of(std::string_view bytes) const {
  const auto found = by_bytes_.find(bytes);
  if (found == by_bytes_.end()) return std::nullopt;
  return found->second;
}

bool Tokenizer::is_control(int32_t id) const {
  return contains(id) && types_[static_cast<size_t>(id)] == TokenType::control;
}

bool Tokenizer::is_stop(int32_t id) const {
  return std::find(stop_ids_.begin(), stop_ids_.end(), id) != stop_ids_.end();
}

void Tokenizer::encode_plain(std::string_view text, BpeMerger& merger, std::vector<size_t>& ends,
                             std::vector<int32_t>& ids) const {
  ends.clear();
  split_(text, ends);
  size_t begin = 0;
  for (const size_t end : ends) {
    merger.append_word(text.substr(begin, end - begin), ids);
    begin = end;
  }
}

TokenTrie::Match Tokenizer::special_at(std::string_view text, size_t at,
                                       std::span<const ByteRange> plain) const {
  if (plain.empty()) return special_.longest_at(text, at);
  const TokenTrie::Match user_defined = user_defined_.longest_at(text, at);
  if (at >= plain.front().begin) return user_defined;
  // A shorter control token that ends before the range is still one.
  const TokenTrie::Match before = special_.longest_at(text.substr(0, plain.front().begin), at);
  return before.bytes > user_defined.bytes ? before : user_defined;
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  if (text.size() > limits::prompt_bytes_max) {
    return error(
        Code::exhausted,
        concat("the text has ", text.size(), " bytes, more than ", limits::prompt_bytes_max),
        "send a shorter text");
  }
  TROUPE_TRY(check_utf8(text, "the text"));
  std::span<const ByteRange> plain = options.plain;
  BpeMerger merger(merges_, byte_ids_);
  std::vector<size_t> ends;
  std::vector<int32_t> ids;
  if (options.add_special && add_bos_) ids.push_back(bos_id_);
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    while (!plain.empty() && plain.front().end <= at) plain = plain.subspan(1);
    const TokenTrie::Match match =
        options.parse_special ? special_at(text, at, plain) : user_defined_.longest_at(text, at);
    if (match.id < 0) {
      ++at;
      continue;
    }
    encode_plain(text.substr(begin, at - begin), merger, ends, ids);
    ids.push_back(match.id);
    at += match.bytes;
    begin = at;
  }
  encode_plain(text.substr(begin), merger, ends, ids);
  if (options.add_special && add_eos_) ids.push_back(eos_id_);
  return ids;
}

Result<std::string> Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::string bytes;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!contains(ids[i])) {
      return error(Code::invalid_argument,
                   concat("token ", i, " has id ", ids[i], ", which is not in the vocabulary"),
                   concat("ids are 0 to ", size() - 1));
    }
    if (skip_special && is_control(ids[i])) continue;
    bytes.append(token_bytes(ids[i]));
  }
  return bytes;
}

}  // namespace troupe::text
