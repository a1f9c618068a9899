#include "engine/prompt_lookup.hpp"

#include <algorithm>

namespace troupe::engine {

namespace {
constexpr size_t slots_min = 64;
constexpr float credit_max = 16.0f;
constexpr uint32_t length_max = 64;
}  // namespace

size_t NgramTable::hash(const std::vector<int32_t>& tokens, uint32_t end) const {
  uint64_t h = n_;
  for (uint32_t i = end - n_; i < end; ++i) {
    h = (h ^ static_cast<uint32_t>(tokens[i])) * 0x9E3779B97F4A7C15u;
    h ^= h >> 29;
  }
  return static_cast<size_t>(h);
}

bool NgramTable::equal(const std::vector<int32_t>& tokens, uint32_t a, uint32_t b) const {
  for (uint32_t i = 1; i <= n_; ++i) {
    if (tokens[a - i] != tokens[b - i]) return false;
  }
  return true;
}

void NgramTable::grow(const std::vector<int32_t>& tokens) {
  std::vector<uint32_t> old(std::max(slots_min, 2 * ends_.size()), 0);
  old.swap(ends_);
  const size_t mask = ends_.size() - 1;
  for (const uint32_t end : old) {
    if (end == 0) continue;
    size_t slot = hash(tokens, end) & mask;
    while (ends_[slot] != 0) slot = (slot + 1) & mask;
    ends_[slot] = end;
  }
}

uint32_t NgramTable::exchange(const std::vector<int32_t>& tokens, uint32_t end) {
  if (2 * (used_ + 1) > ends_.size()) grow(tokens);
  const size_t mask = ends_.size() - 1;
  size_t slot = hash(tokens, end) & mask;
  while (ends_[slot] != 0 && !equal(tokens, ends_[slot], end)) slot = (slot + 1) & mask;
  const uint32_t previous = ends_[slot];
  if (previous == 0) ++used_;
  ends_[slot] = end;
  return previous;
}

bool PromptLookup::feed(const std::vector<int32_t>& tokens, uint32_t count_max) {
  const auto size = static_cast<uint32_t>(tokens.size());
  for (uint32_t i = 0; i < count_max && fed_ < size; ++i) {
    ++fed_;
    for (uint32_t n = 1; n <= n_max && n <= fed_; ++n) {
      previous_[n - 1] = tables_[n - 1].exchange(tokens, fed_);
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
