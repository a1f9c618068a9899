// What readers hold of a BlockStore.
#include <algorithm>

#include "base/crc32c.hpp"
#include "base/defect.hpp"
#include "kv/block_store.hpp"

namespace troupe::kv {

std::vector<IndexedBlock> BlockStore::pin(uint64_t token, std::span<const BlockName> names,
                                          TimeUs until) {
  std::vector<IndexedBlock> blocks;
  if (leases_.contains(token)) return blocks;
  Lease lease;
  lease.until = until;
  for (const BlockName& name : names) {
    seen_.see(name);
    const uint32_t index = find(name);
    if (index == no_page || slots_[index].state != State::held) break;
    if (!add_pin(index)) break;
    lease.slots.push_back(index);
    blocks.push_back({index, slots_[index].checksum});
  }
  stats_.hits += blocks.size();
  stats_.misses += names.size() - blocks.size();
  if (!blocks.empty()) leases_.emplace(token, std::move(lease));
  return blocks;
}

std::optional<IndexedBlock> BlockStore::pin_page(uint64_t token, PageId page, TimeUs until) {
  const Slot& slot = slots_[page];
  if (slot.state != State::held || !add_pin(page)) return std::nullopt;
  seen_.see(slot.name);
  Lease& lease = leases_[token];
  lease.slots.push_back(page);
  lease.until = std::max(lease.until, until);
  ++stats_.hits;
  return IndexedBlock{page, slot.checksum};
}

std::optional<PageId> BlockStore::page_of(const BlockName& name) const {
  const uint32_t index = find(name);
  if (index == no_page || slots_[index].state != State::held) return std::nullopt;
  return index;
}

std::optional<PageId> BlockStore::hold(const BlockName& name) {
  const auto page = page_of(name);
  return page && add_pin(*page) ? page : std::nullopt;
}

void BlockStore::hold_page(PageId page) {
  if (!add_pin(page)) defect("a page of a store has more holders than can be counted");
}

void BlockStore::let_go(PageId page) {
  release_pin(page, false);
}

bool BlockStore::add_pin(uint32_t index) {
  Slot& slot = slots_[index];
  if (slot.pins == UINT16_MAX) return false;
  if (evictable(slot)) unlink(index);
  if (slot.pins++ == 0) ++stats_.pinned;
  return true;
}

void BlockStore::extend(uint64_t token, TimeUs until) {
  const auto found = leases_.find(token);
  if (found != leases_.end()) found->second.until = std::max(found->second.until, until);
}

void BlockStore::unpin(uint64_t token) {
  const auto found = leases_.find(token);
  if (found == leases_.end()) return;
  // The chain's beginning last, so that it is the most recently used.
  const std::vector<uint32_t> slots = std::move(found->second.slots);
  leases_.erase(found);
  for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot) release_pin(*slot, true);
}

void BlockStore::release_pin(uint32_t index, bool is_use) {
  Slot& slot = slots_[index];
  if (--slot.pins > 0) return;
  --stats_.pinned;
  if (slot.state == State::doomed) {
    release(index);
    return;
  }
  slot.used = slot.used || is_use;
  if (!evictable(slot)) return;
  // What was never used lies elsewhere too: it is the first to make room.
  if (slot.used) {
    link_newest(index);
  } else {
    link_oldest(index);
  }
}

std::vector<uint64_t> BlockStore::expire(TimeUs now) {
  std::vector<uint64_t> over;
  for (const auto& [token, lease] : leases_) {
    if (now >= lease.until) over.push_back(token);
  }
  for (const uint64_t token : over) unpin(token);
  return over;
}

std::optional<BlockName> BlockStore::recheck(uint64_t token, PageId page_id) {
  const auto found = leases_.find(token);
  if (found == leases_.end()) return std::nullopt;
  const std::vector<uint32_t>& slots = found->second.slots;
  if (std::find(slots.begin(), slots.end(), page_id) == slots.end()) return std::nullopt;
  Slot& slot = slots_[page_id];
  if (slot.state != State::held) return std::nullopt;
  if (crc32c({page(page_id), block_bytes_}) == slot.checksum) return std::nullopt;
  ++stats_.corrupt;
  --stats_.held;
  events_.append(false, tier_, slot.name);
  table_.erase(slot.name, name_of());
  slot.state = State::doomed;
  return slot.name;
}

}  // namespace troupe::kv
