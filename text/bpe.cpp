#include "text/bpe.hpp"

#include <algorithm>
#include <bit>

namespace troupe::text {

MergeTable::MergeTable(const std::vector<Merge>& merges)
    : slots_(std::bit_ceil(merges.size() * 2 + 1)) {
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const Merge& merge = merges[rank];
    Slot& slot = slots_[slot_of(merge.left, merge.right)];
    if (slot.rank != no_rank) continue;
    slot = {merge.left, merge.right, static_cast<uint32_t>(rank), merge.result};
  }
}

size_t MergeTable::slot_of(int32_t left, int32_t right) const {
  const uint64_t key = (uint64_t{static_cast<uint32_t>(left)} << 32) | static_cast<uint32_t>(right);
  const size_t mask = slots_.size() - 1;
  size_t at = static_cast<size_t>((key * 0x9e3779b97f4a7c15u) >> 24) & mask;
  while (slots_[at].rank != no_rank && (slots_[at].left != left || slots_[at].right != right)) {
    at = (at + 1) & mask;
  }
  return at;
}

MergeTable::Found MergeTable::find(int32_t left, int32_t right) const {
  if (slots_.empty()) return {};
  const Slot& slot = slots_[slot_of(left, right)];
  return {slot.rank, slot.result};
}

namespace {

/// Heap order: the lowest rank, then the leftmost, comes out first.
constexpr auto later = [](const auto& a, const auto& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
};

}  // namespace

void BpeMerger::push(int32_t position) {
  const Symbol& left = symbols_[static_cast<size_t>(position)];
  if (left.next < 0) return;
  const int32_t right = symbols_[static_cast<size_t>(left.next)].id;
  const MergeTable::Found found = merges_.find(left.id, right);
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

void BpeMerger::append_word(std::string_view word, std::vector<int32_t>& ids) {
  symbols_.clear();
  heap_.clear();
  for (const char byte : word) {
    const int32_t id = byte_ids_[static_cast<uint8_t>(byte)];
    if (id < 0) continue;
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
