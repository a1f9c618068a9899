#include "text/bpe.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace troupe::text {

namespace {

uint64_t pair_of(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

/// Up to here a look at every pair is faster than a heap.
constexpr size_t short_max = 32;

/// Heap order: the lowest rank, then the leftmost, comes out first.
constexpr auto later = [](const auto& a, const auto& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
};

}  // namespace

MergeTable::MergeTable(const std::vector<Merge>& merges)
    : slots_(std::bit_ceil(merges.size() * 2 + 1)) {
  for (const Merge& merge : merges) {
    const uint64_t pair = pair_of(merge.left, merge.right);
    Slot& slot = slots_[slot_of(pair)];
    if (slot.pair == pair) continue;
    slot = {pair, merge.rank, merge.result};
  }
}

size_t MergeTable::slot_of(uint64_t pair) const {
  const size_t mask = slots_.size() - 1;
  size_t at = static_cast<size_t>((pair * 0x9e3779b97f4a7c15u) >> 32) & mask;
  while (slots_[at].pair != UINT64_MAX && slots_[at].pair != pair) at = (at + 1) & mask;
  return at;
}

MergeTable::Found MergeTable::find(int32_t left, int32_t right) const {
  if (slots_.empty()) return {};
  const Slot& slot = slots_[slot_of(pair_of(left, right))];
  return {slot.rank, slot.result};
}

MergeTable::Found BpeMerger::find(int32_t left, int32_t right) {
  ++lookups_;
  return merges_.find(left, right);
}

void BpeMerger::merge(std::span<const int32_t> symbols, std::vector<int32_t>& ids) {
  if (symbols.size() <= short_max) {
    merge_short(symbols, ids);
  } else {
    merge_long(symbols, ids);
  }
}

void BpeMerger::merge_short(std::span<const int32_t> symbols, std::vector<int32_t>& ids) {
  if (symbols.empty()) return;
  std::array<int32_t, short_max> id;
  std::array<uint32_t, short_max> rank;  // of the pair that begins here
  std::array<int32_t, short_max> result;
  size_t count = symbols.size();
  std::copy(symbols.begin(), symbols.end(), id.begin());
  const auto look = [&](size_t i) {
    const MergeTable::Found found = i + 1 < count ? find(id[i], id[i + 1]) : MergeTable::Found{};
    rank[i] = found.rank;
    result[i] = found.result;
  };
  for (size_t i = 0; i < count; ++i) look(i);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (rank[i] < rank[best]) best = i;
    }
    if (rank[best] == MergeTable::no_rank) break;
    id[best] = result[best];
    --count;
    for (size_t i = best + 1; i < count; ++i) {
      id[i] = id[i + 1];
      rank[i] = rank[i + 1];
      result[i] = result[i + 1];
    }
    look(best);
    if (best > 0) look(best - 1);
  }
  ids.insert(ids.end(), id.begin(), id.begin() + static_cast<long>(count));
}

void BpeMerger::push(int32_t position) {
  const Symbol& left = symbols_[static_cast<size_t>(position)];
  if (left.next < 0) return;
  const int32_t right = symbols_[static_cast<size_t>(left.next)].id;
  const MergeTable::Found found = find(left.id, right);
  if (found.rank == MergeTable::no_rank) return;
  heap_.push_back({found.rank, position, left.id, right, found.result});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

void BpeMerger::join(const Candidate& best) {
  Symbol& left = symbols_[static_cast<size_t>(best.position)];
  if (left.id != best.left || left.next < 0) return;
  Symbol& right = symbols_[static_cast<size_t>(left.next)];
  if (right.id != best.right) return;
  left.id = best.result;
  left.next = right.next;
  right.id = -1;
  if (left.next >= 0) symbols_[static_cast<size_t>(left.next)].previous = best.position;
  if (left.previous >= 0) push(left.previous);
  push(best.position);
}

void BpeMerger::merge_long(std::span<const int32_t> symbols, std::vector<int32_t>& ids) {
  symbols_.clear();
  heap_.clear();
  for (const int32_t id : symbols) {
    const int32_t position = static_cast<int32_t>(symbols_.size());
    if (position > 0) symbols_.back().next = position;
    symbols_.push_back({id, position - 1, -1});
  }
  for (size_t i = 0; i < symbols_.size(); ++i) push(static_cast<int32_t>(i));
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Candidate best = heap_.back();
    heap_.pop_back();
    join(best);
  }
  for (int32_t at = symbols_.empty() ? -1 : 0; at >= 0;) {
    const Symbol& symbol = symbols_[static_cast<size_t>(at)];
    ids.push_back(symbol.id);
    at = symbol.next;
  }
}

}  // namespace troupe::text
