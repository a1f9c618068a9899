#include "engine/prompt_lookup.hpp"

#include <algorithm>

namespace troupe::engine {

namespace {
constexpr size_t slots_min = 64;
}  // namespace

uint32_t NgramTable::tag(std::span<const int32_t> ngram) {
  uint64_t h = ngram.size();
  for (const int32_t token : ngram) {
    h = (h ^ static_cast<uint32_t>(token)) * 0x9E3779B97F4A7C15u;
    h ^= h >> 29;
  }
  return static_cast<uint32_t>(h);
}

NgramTable::Slot& NgramTable::slot_of(uint32_t tag) {
  const size_t mask = slots_.size() - 1;
  size_t at = tag & mask;
  while (slots_[at].end != 0 && slots_[at].tag != tag) at = (at + 1) & mask;
  return slots_[at];
}

uint32_t NgramTable::exchange(uint32_t tag, uint32_t end) {
  if (2 * (used_ + 1) > slots_.size()) {
    std::vector<Slot> old(std::max(slots_min, 2 * slots_.size()));
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.end != 0) slot_of(slot.tag) = slot;
    }
  }
  Slot& slot = slot_of(tag);
  const uint32_t previous = slot.end;
  if (previous == 0) ++used_;
  slot = {tag, end};
  return previous;
}

bool PromptLookup::feed(const std::vector<int32_t>& tokens, uint32_t drawn_from,
                        uint32_t count_max) {
  outcomes_.clear();
  const auto size = static_cast<uint32_t>(tokens.size());
  for (uint32_t i = 0; i < count_max && fed_ < size; ++i) {
    if (length_ > 0) {
      const bool right = tokens[from_] == tokens[fed_];
      if (fed_ >= drawn_from) outcomes_.push_back({length_, right});
      ++from_;
      length_ = right ? length_ + 1 : 0;
    }
    ++fed_;
    // A run that is as long as the longest n-gram goes on: no table knows of a longer match.
    const bool follows = length_ >= n_max;
    for (uint32_t n = 1; n <= n_max && n <= fed_; ++n) {
      const auto ngram = std::span(tokens).subspan(fed_ - n, n);
      const uint32_t previous = tables_[n - 1].exchange(NgramTable::tag(ngram), fed_);
      if (previous == 0 || follows) continue;
      from_ = previous;
      length_ = n;
    }
  }
  return fed_ == size;
}

std::vector<int32_t> PromptLookup::guess(const std::vector<int32_t>& tokens, uint32_t count) const {
  std::vector<int32_t> drafts;
  if (length_ == 0) return drafts;
  drafts.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    // Past the end the drafts go on with themselves, so that a loop is drafted at full length.
    const size_t from = size_t{from_} + i;
    drafts.push_back(from < tokens.size() ? tokens[from] : drafts[from - tokens.size()]);
  }
  return drafts;
}

}  // namespace troupe::engine
