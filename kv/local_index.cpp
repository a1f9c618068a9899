#include "kv/local_index.hpp"

#include <algorithm>
#include <utility>

#include "base/crc32c.hpp"
#include "base/defect.hpp"

namespace troupe::kv {

namespace {

/// Names beside those of pages that the table has room for from the beginning.
size_t room_for_places(size_t pages) {
  return pages / 32 + 64;
}

}  // namespace

LocalIndex::LocalIndex(Pool& pool, EventLog& events, uint32_t first_use)
    : pool_(pool),
      events_(events),
      nodes_(pool.num_pages()),
      table_room_(pool.num_pages() + room_for_places(pool.num_pages())),
      table_(table_room_, SlotTable::dense),
      uses_(first_use) {
  oldest_.reserve(pool.num_pages());
  pool_.watch(this);
}

LocalIndex::~LocalIndex() {
  pool_.watch(nullptr);
  for (PageId page = 0; page < pool_.num_pages(); ++page) {
    if (nodes_[page].present) pool_.release(page);
  }
}

// A chain is retained from its root down and given up in any order; a node passes "busy" on to its
// parent only when its own state changes, so the walk up costs one step a block on average.
template <class Change>
void LocalIndex::update(Slot start, Change change) {
  if (node(start).listed) unlist(start);
  bool was_busy = node(start).busy();
  bool was_idle = node(start).idle();
  change(node(start));
  if (node(start).evictable_now()) list(start);
  for (Slot at = start;;) {
    const Node& changed = node(at);
    const bool is_busy = changed.busy();
    if (changed.idle() && !was_idle) ++num_idle_;
    if (!changed.idle() && was_idle) --num_idle_;
    if (is_busy == was_busy || !changed.present) return;
    at = resolve(changed.parent);
    Node& parent = node(at);
    was_busy = parent.busy();
    was_idle = parent.idle();
    parent.busy_children += is_busy ? 1u : UINT32_MAX;
  }
}

void LocalIndex::on_shared(PageId id) {
  if (nodes_[id].present) update(id, [](Node& n) { n.shared = 1; });
}

void LocalIndex::on_unshared(PageId id) {
  if (!nodes_[id].present) return;
  // A block was in use until now, however long ago it was matched.
  const uint32_t use = next_use();
  update(id, [use](Node& n) {
    n.shared = 0;
    n.last_use = use;
  });
}

void LocalIndex::touch(Slot page) {
  const uint32_t use = next_use();
  update(page, [use](Node& n) { n.last_use = use; });
}

uint32_t LocalIndex::next_use() {
  if (uses_ == UINT32_MAX) number_uses_anew();
  return ++uses_;
}

void LocalIndex::number_uses_anew() {
  std::vector<Slot> pages;
  pages.reserve(num_blocks_);
  for (PageId page = 0; page < pool_.num_pages(); ++page) {
    if (nodes_[page].present) pages.push_back(page);
  }
  std::sort(pages.begin(), pages.end(),
            [this](Slot a, Slot b) { return nodes_[a].last_use < nodes_[b].last_use; });
  uses_ = 0;
  for (const Slot page : pages) nodes_[page].last_use = ++uses_;
}

LocalIndex::Slot LocalIndex::find_slot(const BlockName& name) const {
  return table_.find(name, [this](Slot slot) -> const BlockName& { return node(slot).name; });
}

LocalIndex::Slot LocalIndex::resolve(Slot slot) const {
  if (!is_place(slot)) return slot;
  const Slot page = node(slot).parent;
  return page == none ? slot : page;
}

void LocalIndex::add_name(Slot slot) {
  if (num_names_ == table_room_) {
    table_room_ += table_room_ / 4;
    table_ = SlotTable(table_room_, SlotTable::dense);
    const auto slots = static_cast<Slot>(nodes_.size() + places_.size());
    for (Slot i = 0; i < slots; ++i) {
      if (node(i).named) table_.insert(node(i).name, i);
    }
  }
  table_.insert(node(slot).name, slot);
  node(slot).named = 1;
  ++num_names_;
}

void LocalIndex::drop_name(Slot slot) {
  table_.erase(node(slot).name,
               [this](Slot other) -> const BlockName& { return node(other).name; });
  node(slot).named = 0;
  --num_names_;
}

LocalIndex::Slot LocalIndex::find_or_add_place(const BlockName& name) {
  const Slot found = find_slot(name);
  if (found != none) return found;
  Slot place;
  if (free_places_.empty()) {
    place = static_cast<Slot>(nodes_.size() + places_.size());
    places_.emplace_back();
  } else {
    place = free_places_.back();
    free_places_.pop_back();
  }
  node(place).name = name;
  add_name(place);
  return place;
}

void LocalIndex::drop_place(Slot place) {
  if (node(place).named) drop_name(place);
  node(place) = {};
  free_places_.push_back(place);
}

std::vector<IndexedBlock> LocalIndex::match(std::span<const BlockName> names) {
  std::vector<IndexedBlock> blocks;
  for (const BlockName& name : names) {
    const Slot found = find_slot(name);
    if (found == none || !node(found).present) break;
    touch(found);
    pool_.retain(found);
    blocks.push_back(block_of(found));
  }
  return blocks;
}

std::optional<IndexedBlock> LocalIndex::find(const BlockName& name) const {
  const Slot found = find_slot(name);
  if (found == none || !node(found).present) return std::nullopt;
  return block_of(found);
}

std::optional<BlockName> LocalIndex::parent(const BlockName& name) const {
  const Slot found = find_slot(name);
  if (found == none || !node(found).present) return std::nullopt;
  return node(nodes_[found].parent).name;
}

IndexedBlock LocalIndex::insert(const BlockName& name, const BlockName& parent_name, PageId page) {
  if (name == parent_name) defect("a block can't be its own parent");
  Node& entry = nodes_.at(page);
  if (entry.present && entry.name != name) defect("a page can't be indexed under two names");
  const Slot before = find_slot(name);
  if (before != none && node(before).present) {
    touch(before);
    return block_of(before);
  }
  const std::span<const std::byte> bytes(pool_.page(page), pool_.layout().block_bytes());
  entry.checksum = crc32c(bytes);
  entry.name = name;
  pool_.retain(page);
  if (before != none) {
    // Blocks that came before this one know its place: that leads here as long as they stay.
    drop_name(before);
    Node& place = node(before);
    place.parent = page;
    entry.children = place.children;
    entry.busy_children = std::exchange(place.busy_children, 0);
  }
  add_name(page);
  entry.parent = find_or_add_place(parent_name);
  const bool is_busy = entry.busy();
  update(entry.parent, [is_busy](Node& parent) {
    count_child(parent, +1);
    if (is_busy) ++parent.busy_children;
  });
  const uint32_t use = next_use();
  update(page, [use](Node& n) {
    n.present = 1;
    n.shared = 1;
    n.last_use = use;
  });
  ++num_blocks_;
  events_.append(true, Tier::device, name);
  return block_of(page);
}

void LocalIndex::remove(Slot page) {
  const BlockName name = nodes_[page].name;
  const Slot place = nodes_[page].parent, parent = resolve(place);
  update(page, [](Node& n) { n.present = 0; });
  drop_name(page);
  nodes_[page] = {};
  update(parent, [](Node& n) { count_child(n, -1); });
  if (place != parent) count_child(node(place), -1);
  if (is_place(place) && node(place).children == 0) drop_place(place);
  --num_blocks_;
  pool_.release(page);
  events_.append(false, Tier::device, name);
}

uint32_t LocalIndex::evict(uint32_t pages) {
  uint32_t freed = 0;
  for (; freed < pages && !oldest_.empty(); ++freed) remove(oldest_.front());
  return freed;
}

std::vector<BlockName> LocalIndex::names() const {
  std::vector<BlockName> names;
  names.reserve(num_blocks_);
  for (PageId page = 0; page < pool_.num_pages(); ++page) {
    if (nodes_[page].present) names.push_back(nodes_[page].name);
  }
  return names;
}

void LocalIndex::clear() {
  evict(UINT32_MAX);
}

}  // namespace troupe::kv
