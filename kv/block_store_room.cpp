// Whose blocks make room in a BlockStore, and in which order.
#include <algorithm>

#include "kv/block_store.hpp"
#include "kv/limits.hpp"

namespace troupe::kv {
namespace {

// Blocks of the newcomer's priority that are looked at for one that may go.
constexpr int victims_max = 8;
// A block may go for one that was seen so many times less: every conversation begins with blocks
// that were never seen, so only what is asked for again and again is kept from them.
constexpr uint32_t seen_margin = 1;

constexpr uint32_t longest_ago = 1u << 31;

}  // namespace

std::optional<uint32_t> BlockStore::tenant_of(const OfferedBlock& block) const {
  if (block.root == BlockName()) {
    const uint32_t parent = find(block.parent);
    return parent == no_page ? 0 : slots_[parent].tenant;
  }
  const auto known = tenant_by_root_.find(block.root);
  if (known == tenant_by_root_.end()) return std::nullopt;
  return known->second;
}

uint32_t BlockStore::join_tenant(const OfferedBlock& block) {
  auto tenant = tenant_of(block);
  if (!tenant && !free_tenants_.empty()) {
    tenant = free_tenants_.back();
    free_tenants_.pop_back();
  } else if (!tenant && tenants_.size() <= tenants_max) {
    tenant = static_cast<uint32_t>(tenants_.size());
    tenants_.emplace_back();
  }
  Tenant& joined = tenants_[tenant.value_or(0)];
  if (joined.blocks++ == 0 && tenant.value_or(0) != 0) {
    joined.root = block.root;
    tenant_by_root_[block.root] = *tenant;
  }
  return tenant.value_or(0);
}

void BlockStore::leave_tenant(Slot& slot) {
  Tenant& left = tenants_[slot.tenant];
  if (--left.blocks > 0 || slot.tenant == 0) return;
  tenant_by_root_.erase(left.root);
  left = Tenant();
  free_tenants_.push_back(slot.tenant);
}

uint32_t BlockStore::num_blocks_of(const BlockName& root) const {
  const auto known = tenant_by_root_.find(root);
  return known == tenant_by_root_.end() ? 0 : tenants_[known->second].blocks;
}

BlockName BlockStore::root_of(const BlockName& name) const {
  const uint32_t slot = find(name);
  return slot == no_page ? BlockName() : tenants_[slots_[slot].tenant].root;
}

bool BlockStore::has_its_share(uint32_t tenant) const {
  return tenants_[tenant].blocks >= std::max(num_pages() / limits::tenant_store_share, 1u);
}

uint32_t BlockStore::oldest(uint8_t priority, uint32_t except, std::optional<uint32_t> only) const {
  uint32_t found = no_page;
  const uint32_t end = only ? *only + 1 : static_cast<uint32_t>(tenants_.size());
  for (uint32_t tenant = only.value_or(0); tenant < end; ++tenant) {
    uint32_t victim = tenants_[tenant].lists[priority].oldest;
    if (victim == except && victim != no_page) victim = slots_[victim].newer;
    if (victim == no_page) continue;
    const bool is_older =
        found == no_page || uses_ - slots_[victim].last_use > uses_ - slots_[found].last_use;
    if (is_older) found = victim;
  }
  return found;
}

bool BlockStore::make_room(const OfferedBlock& block, bool is_wanted_now) {
  // The newcomer's own parent must not go for it.
  const uint32_t parent = find(block.parent);
  const std::optional<uint32_t> tenant = tenant_of(block);
  const bool from_its_own = tenant && has_its_share(*tenant);
  for (uint32_t other = 0; !from_its_own && other < tenants_.size(); ++other) {
    if (!has_its_share(other)) continue;
    for (uint8_t priority = 0; priority < num_priorities; ++priority) {
      const uint32_t victim = oldest(priority, parent, other);
      if (victim == no_page) continue;
      evict(victim);
      return true;
    }
  }
  const std::optional<uint32_t> only = from_its_own ? tenant : std::nullopt;
  for (uint8_t priority = 0; priority < block.priority; ++priority) {
    const uint32_t victim = oldest(priority, parent, only);
    if (victim == no_page) continue;
    evict(victim);
    return true;
  }
  const uint32_t newcomer_seen = seen_.seen(block.name);
  for (int looked = 0; looked < victims_max; ++looked) {
    const uint32_t victim = oldest(block.priority, parent, only);
    if (victim == no_page) return false;
    if (is_wanted_now || seen_.seen(slots_[victim].name) <= newcomer_seen + seen_margin) {
      evict(victim);
      return true;
    }
    unlink(victim);
    link_newest(victim);
  }
  return false;
}

void BlockStore::link_newest(uint32_t index) {
  Slot& slot = slots_[index];
  List& list = list_of(slot);
  slot.last_use = ++uses_;
  slot.older = list.newest;
  slot.newer = no_page;
  (list.newest == no_page ? list.oldest : slots_[list.newest].newer) = index;
  list.newest = index;
}

void BlockStore::link_oldest(uint32_t index) {
  Slot& slot = slots_[index];
  List& list = list_of(slot);
  // Uses are compared by how long ago they were, so half of all numbers back is the longest.
  slot.last_use = uses_ - longest_ago;
  slot.older = no_page;
  slot.newer = list.oldest;
  (list.oldest == no_page ? list.newest : slots_[list.oldest].older) = index;
  list.oldest = index;
}

void BlockStore::unlink(uint32_t index) {
  Slot& slot = slots_[index];
  List& list = list_of(slot);
  (slot.older == no_page ? list.oldest : slots_[slot.older].newer) = slot.newer;
  (slot.newer == no_page ? list.newest : slots_[slot.newer].older) = slot.older;
  slot.older = slot.newer = no_page;
}

}  // namespace troupe::kv
