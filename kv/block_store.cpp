#include "kv/block_store.hpp"

#include <algorithm>

#include "base/defect.hpp"

namespace troupe::kv {
namespace {

size_t pages_in(const Region& region, size_t block_bytes) {
  return block_bytes == 0 ? 0 : std::min<size_t>(region.bytes / block_bytes, no_page - 1);
}

}  // namespace

BlockStore::BlockStore(Region region, size_t block_bytes, EventLog& events, Tier tier)
    : region_(std::move(region)),
      block_bytes_(block_bytes),
      events_(events),
      tier_(tier),
      slots_(pages_in(region_, block_bytes)),
      table_(slots_.size(), SlotTable::dense),
      seen_(slots_.size()),
      tenants_(1) {
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    slots_[i].newer = i + 1 < slots_.size() ? i + 1 : no_page;
  }
  first_free_ = slots_.empty() ? no_page : 0;
  stats_.total = stats_.free = num_pages();
}

BlockStore::Answer BlockStore::offer(const OfferedBlock& block) {
  seen_.see(block.name);
  return take_in(block, false);
}

BlockStore::Answer BlockStore::expect(const OfferedBlock& block) {
  return take_in(block, true);
}

BlockStore::Answer BlockStore::take_in(const OfferedBlock& offered, bool is_wanted_now) {
  OfferedBlock block = offered;
  block.priority = std::min<uint8_t>(block.priority, num_priorities - 1);
  if (const uint32_t slot = find(block.name); slot != no_page) {
    const bool held = slots_[slot].state == State::held;
    if (held) touch(slot);
    return {held ? Verdict::held : Verdict::arriving, no_page};
  }
  if (first_free_ == no_page && !make_room(block, is_wanted_now)) {
    ++stats_.refused;
    return {Verdict::refused, no_page};
  }
  return {Verdict::wanted, take_free_slot(block)};
}

uint32_t BlockStore::take_free_slot(const OfferedBlock& block) {
  const uint32_t tenant = join_tenant(block);
  const uint32_t index = first_free_;
  Slot& slot = slots_[index];
  first_free_ = slot.newer;
  slot = Slot();
  slot.name = block.name;
  slot.checksum = block.checksum;
  slot.priority = block.priority;
  slot.state = State::arriving;
  slot.tenant = tenant & tenants_max;
  // A parent is always older than its children, so there are no circles, whatever is offered.
  const uint32_t parent = find(block.parent);
  if (parent != no_page && slots_[parent].children < children_max) {
    if (evictable(slots_[parent])) unlink(parent);
    slot.parent = parent;
    count_child(slots_[parent], 1);
    slots_[parent].used = false;
  }
  table_.insert(block.name, index);
  --stats_.free;
  ++stats_.arriving;
  return index;
}

void BlockStore::evict(uint32_t slot) {
  ++stats_.evicted;
  --stats_.held;
  events_.append(false, tier_, slots_[slot].name);
  unlink(slot);
  release(slot);
}

void BlockStore::release(uint32_t index) {
  Slot& slot = slots_[index];
  if (slot.state != State::doomed) table_.erase(slot.name, name_of());
  leave_parent(slot);
  leave_tenant(slot);
  if (slot.children > 0) {
    // Rare: only a block that did not arrive or was damaged goes before its children.
    for (Slot& other : slots_) {
      if (other.state != State::free && other.parent == index) other.parent = no_page;
    }
  }
  slot = Slot();
  slot.newer = first_free_;
  first_free_ = index;
  ++stats_.free;
}

void BlockStore::leave_parent(Slot& slot) {
  if (slot.parent == no_page) return;
  const uint32_t parent = slot.parent;
  slot.parent = no_page;
  count_child(slots_[parent], -1);
  if (!evictable(slots_[parent])) return;
  // With its last child gone a beginning that nobody used by itself is next.
  if (slots_[parent].used) {
    link_newest(parent);
  } else {
    link_oldest(parent);
  }
}

void BlockStore::arrived(PageId page) {
  if (page >= slots_.size() || slots_[page].state != State::arriving) {
    defect("a block arrived in a page that was not set aside");
  }
  Slot& slot = slots_[page];
  slot.state = State::held;
  --stats_.arriving;
  ++stats_.held;
  ++stats_.stored;
  if (evictable(slot)) link_newest(page);
  events_.append(true, tier_, slot.name);
}

void BlockStore::lost(PageId page) {
  if (page >= slots_.size() || slots_[page].state != State::arriving) {
    defect("a block was lost that was not on its way");
  }
  --stats_.arriving;
  ++stats_.lost;
  release(page);
}

bool BlockStore::contains(const BlockName& name) const {
  const uint32_t slot = find(name);
  return slot != no_page && slots_[slot].state == State::held;
}

std::vector<BlockName> BlockStore::names() const {
  std::vector<BlockName> names;
  names.reserve(stats_.held);
  for (const Slot& slot : slots_) {
    if (slot.state == State::held) names.push_back(slot.name);
  }
  return names;
}

std::optional<IndexedBlock> BlockStore::block_of(const BlockName& name) const {
  const auto page = page_of(name);
  if (!page) return std::nullopt;
  return IndexedBlock{*page, slots_[*page].checksum};
}

std::optional<BlockName> BlockStore::parent_of(const BlockName& name) const {
  const uint32_t index = find(name);
  if (index == no_page || slots_[index].parent == no_page) return std::nullopt;
  return slots_[slots_[index].parent].name;
}

std::vector<BlockName> BlockStore::names_by_worth() const {
  std::vector<BlockName> names;
  names.reserve(stats_.held);
  std::vector<bool> is_named(slots_.size(), false);
  std::vector<uint32_t> chain;
  const auto add_chain = [&](uint32_t end) {
    chain.clear();
    for (uint32_t at = end; at != no_page && !is_named[at]; at = slots_[at].parent) {
      is_named[at] = true;
      chain.push_back(at);
    }
    for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
      if (slots_[*at].state == State::held) names.push_back(slots_[*at].name);
    }
  };
  std::vector<uint32_t> ends;
  for (uint32_t at = 0; at < slots_.size(); ++at) {
    if (evictable(slots_[at])) ends.push_back(at);
  }
  std::ranges::sort(ends, {}, [this](uint32_t at) {
    return std::pair(num_priorities - slots_[at].priority, uses_ - slots_[at].last_use);
  });
  for (const uint32_t at : ends) add_chain(at);
  for (uint32_t at = 0; at < slots_.size(); ++at) add_chain(at);
  return names;
}

BlockStoreStats BlockStore::stats() const {
  return stats_;
}

void BlockStore::touch(uint32_t index) {
  Slot& slot = slots_[index];
  slot.used = true;
  if (!evictable(slot)) return;
  unlink(index);
  link_newest(index);
}

}  // namespace troupe::kv
