#include "kv/cluster_index.hpp"

#include <algorithm>
#include <bit>

namespace troupe::kv {
namespace {

uint8_t bit_of(Tier tier) {
  return static_cast<uint8_t>(1u << static_cast<unsigned>(tier));
}

bool known(Tier tier) {
  return static_cast<size_t>(tier) < num_tiers;
}

}  // namespace

const char* name(Applied applied) {
  switch (applied) {
    case Applied::applied:
      return "applied";
    case Applied::duplicate:
      return "duplicate";
    case Applied::gap:
      return "gap";
    case Applied::stale_incarnation:
      return "stale_incarnation";
    case Applied::over_limit:
      return "over_limit";
  }
  return "unknown";
}

bool ClusterIndex::begin(const std::string& worker, uint64_t incarnation) {
  if (slot_of(worker, incarnation)) return true;
  remove_worker(worker);
  if (slots_by_worker_.size() >= limits::workers_max) return false;
  uint16_t slot = 0;
  if (free_slots_.empty()) {
    slot = static_cast<uint16_t>(workers_.size());
    workers_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  workers_[slot] = {worker, incarnation, 0, 0};
  slots_by_worker_.emplace(worker, slot);
  return true;
}

std::optional<uint16_t> ClusterIndex::slot_of(const std::string& worker,
                                              uint64_t incarnation) const {
  const auto found = slots_by_worker_.find(worker);
  if (found == slots_by_worker_.end()) return std::nullopt;
  if (workers_[found->second].incarnation != incarnation) return std::nullopt;
  return found->second;
}

Applied ClusterIndex::apply(const std::string& worker, uint64_t incarnation, const Event& event) {
  const std::optional<uint16_t> slot = slot_of(worker, incarnation);
  if (!slot) return Applied::stale_incarnation;
  Worker& from = workers_[*slot];
  if (event.number <= from.last_number) return Applied::duplicate;
  if (event.number != from.last_number + 1) return Applied::gap;
  from.last_number = event.number;
  if (!known(event.tier)) return Applied::applied;
  if (!event.stored) {
    const uint32_t head = table_.find(event.name, name_of());
    if (head != SlotTable::none) drop(*slot, bit_of(event.tier), head);
    return Applied::applied;
  }
  return store(*slot, event.tier, event.name) ? Applied::applied : Applied::over_limit;
}

Applied ClusterIndex::apply_snapshot(const std::string& worker, uint64_t incarnation,
                                     uint64_t last_number, std::span<const Residence> blocks) {
  const std::optional<uint16_t> slot = slot_of(worker, incarnation);
  if (!slot) return Applied::stale_incarnation;
  Worker& from = workers_[*slot];
  // An older snapshot would undo events that were taken in after it was made.
  if (last_number < from.last_number) return Applied::duplicate;
  drop_all(*slot);
  from.last_number = last_number;
  Applied result = Applied::applied;
  for (const Residence& block : blocks) {
    if (!known(block.tier)) continue;
    if (!store(*slot, block.tier, block.name)) result = Applied::over_limit;
  }
  return result;
}

void ClusterIndex::remove_worker(const std::string& worker) {
  const auto found = slots_by_worker_.find(worker);
  if (found == slots_by_worker_.end()) return;
  const uint16_t slot = found->second;
  drop_all(slot);
  workers_[slot] = {};
  free_slots_.push_back(slot);
  slots_by_worker_.erase(found);
}

bool ClusterIndex::store(uint16_t slot, Tier tier, const BlockName& name) {
  const uint32_t known_head = table_.find(name, name_of());
  if (known_head != SlotTable::none) {
    for (Cell* cell = &heads_[known_head].first;; cell = &cells_[cell->next]) {
      if (cell->slot == slot) {
        cell->tiers |= bit_of(tier);
        return true;
      }
      if (cell->next == no_cell) break;
    }
  }
  if (num_residences() >= residences_max_) return false;
  const Cell cell{no_cell, slot, bit_of(tier)};
  if (known_head == SlotTable::none) {
    add_head(name, cell);
  } else {
    add_cell(heads_[known_head], cell);
  }
  ++workers_[slot].residences;
  return true;
}

void ClusterIndex::add_head(const BlockName& name, const Cell& first) {
  uint32_t added = 0;
  if (free_heads_.empty()) {
    added = static_cast<uint32_t>(heads_.size());
    if (heads_.size() == table_room_) {
      constexpr size_t room_min = 1024;
      table_room_ = std::max(room_min, 2 * table_room_);
      table_ = SlotTable(table_room_);
      for (uint32_t i = 0; i < added; ++i) table_.insert(heads_[i].name, i);
    }
    heads_.push_back({name, first});
  } else {
    added = free_heads_.back();
    free_heads_.pop_back();
    heads_[added] = {name, first};
  }
  table_.insert(name, added);
}

void ClusterIndex::add_cell(Head& head, Cell cell) {
  cell.next = head.first.next;
  if (free_cells_.empty()) {
    head.first.next = static_cast<uint32_t>(cells_.size());
    cells_.push_back(cell);
  } else {
    head.first.next = free_cells_.back();
    free_cells_.pop_back();
    cells_[head.first.next] = cell;
  }
}

void ClusterIndex::drop(uint16_t slot, uint8_t tiers, uint32_t head) {
  Cell* before = nullptr;
  Cell* cell = &heads_[head].first;
  while (cell->slot != slot) {
    if (cell->next == no_cell) return;
    before = cell;
    cell = &cells_[cell->next];
  }
  cell->tiers &= static_cast<uint8_t>(~tiers);
  if (cell->tiers != 0) return;
  --workers_[slot].residences;
  if (before != nullptr) {
    free_cells_.push_back(before->next);
    before->next = cell->next;
  } else if (cell->next != no_cell) {
    free_cells_.push_back(cell->next);
    *cell = cells_[cell->next];
  } else {
    table_.erase(heads_[head].name, name_of());
    free_heads_.push_back(head);
  }
}

void ClusterIndex::drop_all(uint16_t slot) {
  // A walk over everything, because workers go rarely and a list per worker would cost every block.
  for (uint32_t head = 0; head < heads_.size() && workers_[slot].residences > 0; ++head) {
    if (heads_[head].first.tiers != 0) drop(slot, UINT8_MAX, head);
  }
}

void ClusterIndex::prefetch(std::span<const BlockName> names, size_t at) const {
  constexpr size_t cells_ahead = 16, heads_ahead = 8;
  if (at + cells_ahead < names.size()) table_.prefetch(names[at + cells_ahead]);
  if (at + heads_ahead >= names.size()) return;
  const uint32_t head = table_.guess(names[at + heads_ahead]);
  if (head != SlotTable::none) __builtin_prefetch(&heads_[head]);
}

std::vector<WorkerMatch> ClusterIndex::match(std::span<const BlockName> names) const {
  std::vector<WorkerMatch> matches;
  std::vector<uint32_t> position(workers_.size(), UINT32_MAX);  // slot -> index in matches
  for (size_t i = 0; i < names.size(); ++i) {
    prefetch(names, i);
    const uint32_t head = table_.find(names[i], name_of());
    if (head == SlotTable::none) break;
    bool extended = false;
    for (const Cell* cell = &heads_[head].first;; cell = &cells_[cell->next]) {
      if (i == 0) {
        position[cell->slot] = static_cast<uint32_t>(matches.size());
        matches.push_back({workers_[cell->slot].id, 0, {}});
      }
      const uint32_t at = position[cell->slot];
      if (at != UINT32_MAX && matches[at].blocks == i) {
        ++matches[at].blocks;
        ++matches[at].by_tier[static_cast<size_t>(std::countr_zero(cell->tiers))];
        extended = true;
      }
      if (cell->next == no_cell) break;
    }
    if (!extended) break;
  }
  std::sort(matches.begin(), matches.end(), [](const WorkerMatch& a, const WorkerMatch& b) {
    return a.blocks != b.blocks ? a.blocks > b.blocks : a.worker < b.worker;
  });
  return matches;
}

std::vector<uint8_t> ClusterIndex::tiers(const std::string& worker,
                                         std::span<const BlockName> names) const {
  std::vector<uint8_t> tiers(names.size(), 0);
  const auto slot = slots_by_worker_.find(worker);
  if (slot == slots_by_worker_.end() || workers_[slot->second].residences == 0) return tiers;
  for (size_t i = 0; i < names.size(); ++i) {
    prefetch(names, i);
    const uint32_t head = table_.find(names[i], name_of());
    if (head == SlotTable::none) continue;
    for (const Cell* cell = &heads_[head].first;; cell = &cells_[cell->next]) {
      if (cell->slot == slot->second) tiers[i] = cell->tiers;
      if (cell->slot == slot->second || cell->next == no_cell) break;
    }
  }
  return tiers;
}

size_t ClusterIndex::num_blocks_of(const std::string& worker) const {
  const auto slot = slots_by_worker_.find(worker);
  return slot == slots_by_worker_.end() ? 0 : workers_[slot->second].residences;
}

std::optional<uint64_t> ClusterIndex::last_number(const std::string& worker) const {
  const auto found = slots_by_worker_.find(worker);
  if (found == slots_by_worker_.end()) return std::nullopt;
  return workers_[found->second].last_number;
}

}  // namespace troupe::kv
