// A binary heap of the pages that could go now, the one that was used longest ago first. A page in
// it knows its rank, so that it can leave from anywhere.
#include "kv/local_index.hpp"

namespace troupe::kv {

void LocalIndex::put(uint32_t at, Slot page) {
  oldest_[at] = page;
  nodes_[page].rank = at;
}

/// Finds the place for `page`, beginning at `at`, where nothing lies.
void LocalIndex::sift(uint32_t at, Slot page) {
  const uint32_t use = nodes_[page].last_use;
  const auto size = static_cast<uint32_t>(oldest_.size());
  while (at > 0 && use < nodes_[oldest_[(at - 1) / 2]].last_use) {
    put(at, oldest_[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= size) break;
    if (child + 1 < size && nodes_[oldest_[child + 1]].last_use < nodes_[oldest_[child]].last_use) {
      ++child;
    }
    if (use <= nodes_[oldest_[child]].last_use) break;
    put(at, oldest_[child]);
    at = child;
  }
  put(at, page);
}

void LocalIndex::list(Slot page) {
  nodes_[page].listed = 1;
  oldest_.push_back(page);
  sift(static_cast<uint32_t>(oldest_.size()) - 1, page);
}

void LocalIndex::unlist(Slot page) {
  const uint32_t at = nodes_[page].rank;
  nodes_[page].listed = 0;
  const Slot last = oldest_.back();
  oldest_.pop_back();
  if (last != page) sift(at, last);
}

}  // namespace troupe::kv
