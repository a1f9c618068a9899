#include "kv/local_index.hpp"

#include "base/crc32c.hpp"
#include "base/defect.hpp"

namespace troupe::kv {

LocalIndex::LocalIndex(Pool& pool, EventLog& events)
    : pool_(pool), events_(events), by_page_(pool.num_pages(), nullptr) {
  pool_.watch(this);
}

LocalIndex::~LocalIndex() {
  pool_.watch(nullptr);
  for (const auto& [name, node] : nodes_) {
    if (node.present()) pool_.release(node.block.page);
  }
}

// A chain is retained from its root down and given up in any order; a node passes "busy" on to its
// parent only when its own state changes, so the walk up costs one step a block on average.
template <class Change>
void LocalIndex::update(Node& start, Change change) {
  const bool was_leaf = start.evictable_now();
  const uint64_t was_last_use = start.last_use;
  bool was_busy = start.busy();
  bool was_idle = start.present() && !was_busy;
  change(start);
  const bool is_leaf = start.evictable_now();
  if (was_leaf && (!is_leaf || start.last_use != was_last_use)) {
    leaves_.erase({was_last_use, &start});
  }
  if (is_leaf && (!was_leaf || start.last_use != was_last_use)) {
    leaves_.insert({start.last_use, &start});
  }
  for (Node* at = &start; at != nullptr; at = at->parent) {
    const bool is_busy = at->busy();
    const bool is_idle = at->present() && !is_busy;
    if (is_idle && !was_idle) ++num_idle_;
    if (!is_idle && was_idle) --num_idle_;
    if (is_busy == was_busy || at->parent == nullptr) return;
    was_busy = at->parent->busy();
    was_idle = at->parent->present() && !was_busy;
    at->parent->busy_children += is_busy ? 1u : UINT32_MAX;
  }
}

void LocalIndex::on_shared(PageId id) {
  if (Node* node = by_page_[id]) update(*node, [](Node& n) { n.shared = true; });
}

void LocalIndex::on_unshared(PageId id) {
  Node* node = by_page_[id];
  if (node == nullptr) return;
  // A block was in use until now, however long ago it was matched.
  update(*node, [this](Node& n) {
    n.shared = false;
    n.last_use = ++uses_;
  });
}

void LocalIndex::touch(Node& node) {
  update(node, [this](Node& n) { n.last_use = ++uses_; });
}

LocalIndex::Node& LocalIndex::node(const BlockName& name) {
  Node& node = nodes_[name];
  node.name = name;
  return node;
}

std::vector<IndexedBlock> LocalIndex::match(std::span<const BlockName> names) {
  std::vector<IndexedBlock> blocks;
  for (const BlockName& name : names) {
    const auto found = nodes_.find(name);
    if (found == nodes_.end() || !found->second.present()) break;
    touch(found->second);
    pool_.retain(found->second.block.page);
    blocks.push_back(found->second.block);
  }
  return blocks;
}

std::optional<IndexedBlock> LocalIndex::find(const BlockName& name) const {
  const auto found = nodes_.find(name);
  if (found == nodes_.end() || !found->second.present()) return std::nullopt;
  return found->second.block;
}

std::optional<BlockName> LocalIndex::parent(const BlockName& name) const {
  const auto found = nodes_.find(name);
  if (found == nodes_.end() || !found->second.present()) return std::nullopt;
  return found->second.parent->name;
}

IndexedBlock LocalIndex::insert(const BlockName& name, const BlockName& parent_name, PageId page) {
  if (name == parent_name) defect("a block can't be its own parent");
  if (by_page_.at(page) != nullptr && by_page_[page]->name != name) {
    defect("a page can't be indexed under two names");
  }
  Node& entry = node(name);
  if (entry.present()) {
    touch(entry);
    return entry.block;
  }
  const std::span<const std::byte> bytes(pool_.page(page), pool_.layout().block_bytes());
  const uint32_t checksum = crc32c(bytes);
  pool_.retain(page);
  by_page_[page] = &entry;
  Node& parent = node(parent_name);
  update(parent, [&](Node& p) {
    ++p.children;
    if (entry.busy()) ++p.busy_children;
  });
  entry.parent = &parent;
  update(entry, [&](Node& n) {
    n.block = {page, checksum};
    n.shared = true;
    n.last_use = ++uses_;
  });
  ++num_blocks_;
  events_.append(true, Tier::device, name);
  return entry.block;
}

void LocalIndex::remove(Node& leaf) {
  const PageId page = leaf.block.page;
  const BlockName name = leaf.name;
  Node& parent = *leaf.parent;
  update(leaf, [](Node& n) { n.block = {}; });
  by_page_[page] = nullptr;
  nodes_.erase(name);
  update(parent, [](Node& p) { --p.children; });
  if (!parent.present() && parent.children == 0) nodes_.erase(BlockName(parent.name));
  --num_blocks_;
  pool_.release(page);
  events_.append(false, Tier::device, name);
}

uint32_t LocalIndex::evict(uint32_t pages) {
  uint32_t freed = 0;
  for (; freed < pages && !leaves_.empty(); ++freed) remove(*leaves_.begin()->second);
  return freed;
}

std::vector<BlockName> LocalIndex::names() const {
  std::vector<BlockName> names;
  names.reserve(num_blocks_);
  for (const auto& [name, node] : nodes_) {
    if (node.present()) names.push_back(name);
  }
  return names;
}

void LocalIndex::clear() {
  evict(UINT32_MAX);
}

}  // namespace troupe::kv
