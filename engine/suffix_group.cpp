// One group's documents and the chains through them.
#include <algorithm>
#include <bit>

#include "engine/suffix_index.hpp"

namespace troupe::engine {

namespace {

constexpr size_t group_slots_min = 64;
/// Places are renumbered before they could overflow.
constexpr uint32_t place_max = uint32_t{1} << 31;
/// Places that are looked at to find known stretches: the newest copies suffice.
constexpr uint32_t known_places_max = 8;

size_t slot_of(std::span<const int32_t> ngram, size_t num_slots) {
  uint64_t h = ngram.size();
  for (const int32_t token : ngram) {
    h = (h ^ static_cast<uint32_t>(token)) * 0x9E3779B97F4A7C15u;
    h ^= h >> 29;
  }
  return h & (num_slots - 1);
}

/// Tokens at the end of `context` that also stand before `end` in `tokens`.
uint32_t common_suffix(std::span<const int32_t> context, std::span<const int32_t> tokens) {
  const size_t most = std::min({context.size(), tokens.size(), size_t{limits::match_tokens_max}});
  uint32_t length = 0;
  while (length < most &&
         context[context.size() - 1 - length] == tokens[tokens.size() - 1 - length]) {
    ++length;
  }
  return length;
}

}  // namespace

SuffixGroup::Place& SuffixGroup::slot(size_t anchor, std::span<const int32_t> ngram) {
  return slots_[anchor][slot_of(ngram, slots_[anchor].size())];
}

SuffixGroup::Place SuffixGroup::newest_place(size_t anchor, std::span<const int32_t> ngram) const {
  if (slots_[anchor].empty()) return 0;
  return slots_[anchor][slot_of(ngram, slots_[anchor].size())];
}

const SuffixGroup::Document* SuffixGroup::locate(Place place) const {
  if (documents_.empty() || place <= documents_.front().begin) return nullptr;
  const auto after =
      std::upper_bound(documents_.begin(), documents_.end(), place,
                       [](Place at, const Document& document) { return at <= document.begin; });
  return &*std::prev(after);
}

void SuffixGroup::link(Document& document) {
  const std::span<const int32_t> tokens(document.tokens);
  for (size_t anchor = 0; anchor < anchors.size(); ++anchor) {
    const uint32_t n = anchors[anchor];
    std::vector<Place>& previous = document.previous[anchor];
    previous.assign(tokens.size(), 0);
    for (size_t i = n - 1; i < tokens.size(); ++i) {
      Place& newest = slot(anchor, tokens.subspan(i + 1 - n, n));
      previous[i] = newest;
      newest = document.begin + static_cast<Place>(i) + 1;
    }
  }
}

void SuffixGroup::rebuild(size_t num_slots) {
  for (std::vector<Place>& slots : slots_) {
    slots = {};
    slots.resize(num_slots);
  }
  end_ = 0;
  for (Document& document : documents_) {
    document.begin = end_;
    link(document);
    end_ += static_cast<Place>(document.tokens.size());
  }
}

void SuffixGroup::append(std::span<const int32_t> tokens, uint64_t number) {
  num_tokens_ += tokens.size();
  const size_t wanted = std::bit_ceil(std::max(group_slots_min, num_tokens_));
  if (wanted > slots_[0].size() || end_ > place_max - tokens.size()) rebuild(wanted);
  documents_.push_back({end_, number, {tokens.begin(), tokens.end()}, {}});
  link(documents_.back());
  end_ += static_cast<Place>(tokens.size());
}

void SuffixGroup::drop_oldest() {
  num_tokens_ -= documents_.front().tokens.size();
  documents_.pop_front();
  if (slots_[0].size() > group_slots_min && num_tokens_ < slots_[0].size() / 8) {
    rebuild(std::bit_ceil(std::max(group_slots_min, 2 * num_tokens_)));
  }
}

size_t SuffixGroup::bytes() const {
  const size_t per_token = sizeof(int32_t) + anchors.size() * sizeof(Place);
  return sizeof(kv::BlockName) + sizeof(SuffixGroup) +
         anchors.size() * slots_[0].size() * sizeof(Place) + documents_.size() * sizeof(Document) +
         num_tokens_ * per_token;
}

SuffixMatch SuffixGroup::find(std::span<const int32_t> context, uint32_t count_max) const {
  SuffixMatch best;
  std::span<const int32_t> rest;
  for (size_t anchor = 0; anchor < anchors.size() && best.length == 0; ++anchor) {
    const uint32_t n = anchors[anchor];
    if (context.size() < n) continue;
    Place place = newest_place(anchor, context.last(n));
    for (uint32_t tried = 0; tried < limits::match_places_max; ++tried) {
      const Document* document = locate(place);
      if (document == nullptr) break;
      const size_t end = place - document->begin;
      const std::span<const int32_t> tokens(document->tokens);
      const uint32_t length = common_suffix(context, tokens.first(end));
      if (end < tokens.size() && length >= n && length > best.length) {
        best.length = length;
        rest = tokens.subspan(end);
      }
      place = document->previous[anchor][end - 1];
    }
  }
  rest = rest.first(std::min(rest.size(), size_t{count_max}));
  best.next.assign(rest.begin(), rest.end());
  return best;
}

uint32_t SuffixGroup::known_prefix(std::span<const int32_t> tokens) const {
  const uint32_t n = anchors[0];
  if (tokens.size() < n) return 0;
  size_t longest = 0;
  Place place = newest_place(0, tokens.first(n));
  for (uint32_t tried = 0; tried < known_places_max; ++tried) {
    const Document* document = locate(place);
    if (document == nullptr) break;
    const size_t end = place - document->begin;
    const auto begin = document->tokens.begin() + static_cast<std::ptrdiff_t>(end - n);
    const auto differ =
        std::mismatch(tokens.begin(), tokens.end(), begin, document->tokens.end()).first;
    longest = std::max(longest, static_cast<size_t>(differ - tokens.begin()));
    place = document->previous[0][end - 1];
  }
  return static_cast<uint32_t>(longest);
}

}  // namespace troupe::engine
