#include "engine/prompt_lookup.hpp"

#include <algorithm>

namespace troupe::engine {

namespace {
constexpr size_t slots_min = 64;
constexpr float credit_max = 16.0f;
constexpr uint32_t length_max = 64;
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

bool PromptLookup::feed(const std::vector<int32_t>& tokens, uint32_t count_max) {
  const auto size = static_cast<uint32_t>(tokens.size());
  for (uint32_t i = 0; i < count_max && fed_ < size; ++i) {
    ++fed_;
    for (uint32_t n = 1; n <= n_max && n <= fed_; ++n) {
      const auto ngram = std::span(tokens).subspan(fed_ - n, n);
      previous_[n - 1] = tables_[n - 1].exchange(NgramTable::tag(ngram), fed_);
    }
  }
  return fed_ == size;
}

std::vector<int32_t> PromptLookup::propose(const std::vector<int32_t>& tokens, uint32_t count_max) {
  std::vector<int32_t> drafts;
  for (uint32_t n = n_max; n > 0; --n) {
    const uint32_t end = previous_[n - 1];
    if (end == 0) continue;
    const Level& level = levels_[n - 1];
    const uint32_t count =
        std::min({count_max, level.length, static_cast<uint32_t>(std::max(level.credit, 0.0f))});
    for (uint32_t i = 0; i < count; ++i) {
      // Past the end the drafts go on with themselves, so that a loop is drafted at full length.
      const size_t from = size_t{end} + i;
      drafts.push_back(from < tokens.size() ? tokens[from] : drafts[from - tokens.size()]);
    }
    proposed_by_ = n - 1;
    break;
  }
  return drafts;
}

void PromptLookup::record(uint32_t drafted, uint32_t accepted) {
  for (Level& level : levels_) {
    const float earned = level.earned_per_token * static_cast<float>(1 + accepted);
    level.credit = std::min(credit_max, level.credit + earned);
  }
  if (drafted == 0) return;
  Level& level = levels_[proposed_by_];
  const uint32_t wasted = drafted - accepted;
  level.credit = std::min(credit_max, level.credit + static_cast<float>(accepted)) -
                 static_cast<float>(wasted);
  if (wasted == 0) {
    level.length = std::min(length_max, 2 * level.length);
  } else {
    level.length = accepted == 0 ? std::max(1u, level.length / 2) : accepted + 1;
  }
}

}  // namespace troupe::engine
