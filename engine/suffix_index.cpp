#include "engine/suffix_index.hpp"

#include <algorithm>

namespace troupe::engine {

namespace {
/// An index entry costs at most so much a token: the token, and for each of two anchors its link
/// and the slots that a group keeps ready.
constexpr size_t bytes_per_token_max = 4 + 2 * (4 + 2 * 4);
}  // namespace

void SuffixIndex::learn(const kv::BlockName& group_name, std::span<const int32_t> tokens) {
  const size_t tokens_max = bytes_max_ / (2 * bytes_per_token_max);
  if (tokens.size() > tokens_max) tokens = tokens.last(tokens_max);
  if (tokens.size() < 2) return;  // nothing follows anything
  if (!groups_.contains(group_name) && groups_.size() >= limits::index_groups_max) {
    forget_silent_group();
  }
  SuffixGroup& group = groups_[group_name];
  ++last_number_;
  // What is stored around a known stretch overlaps it by a whole match, so that a match goes on
  // from the one into the other.
  constexpr size_t overlap = limits::match_tokens_max;
  size_t begin = 0, fresh = 0;  // of the piece to store, and of what is new in it
  for (size_t i = 0; i < tokens.size();) {
    const uint32_t known = group.known_prefix(tokens.subspan(i));
    if (known < limits::known_tokens_min) {
      ++i;
      continue;
    }
    if (i > fresh) append(group, tokens.subspan(begin, i + overlap - begin));
    i += known;
    fresh = i;
    begin = i - overlap;
  }
  if (tokens.size() > fresh) append(group, tokens.subspan(begin));
  make_room();
}

void SuffixIndex::append(SuffixGroup& group, std::span<const int32_t> tokens) {
  const size_t before = group.num_documents() == 0 ? 0 : group.bytes();
  group.append(tokens, last_number_);
  bytes_ += group.bytes() - before;
}

void SuffixIndex::make_room() {
  while (bytes_ > bytes_max_ && !groups_.empty()) {
    const auto largest = std::max_element(
        groups_.begin(), groups_.end(),
        [](const auto& a, const auto& b) { return a.second.bytes() < b.second.bytes(); });
    SuffixGroup& group = largest->second;
    bytes_ -= group.bytes();
    group.drop_oldest();
    if (group.empty()) {
      groups_.erase(largest);
    } else {
      bytes_ += group.bytes();
    }
  }
}

void SuffixIndex::forget_silent_group() {
  const auto silent = std::min_element(
      groups_.begin(), groups_.end(),
      [](const auto& a, const auto& b) { return a.second.newest() < b.second.newest(); });
  bytes_ -= silent->second.bytes();
  groups_.erase(silent);
}

SuffixMatch SuffixIndex::find(const kv::BlockName& group, std::span<const int32_t> context,
                              uint32_t count_max) const {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return {};
  return found->second.find(context, count_max);
}

size_t SuffixIndex::num_documents() const {
  size_t documents = 0;
  for (const auto& [name, group] : groups_) documents += group.num_documents();
  return documents;
}

size_t SuffixIndex::num_tokens() const {
  size_t tokens = 0;
  for (const auto& [name, group] : groups_) tokens += group.num_tokens();
  return tokens;
}

}  // namespace troupe::engine
