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
    drop(*slot, event.tier, event.name);
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
  const auto head = heads_.find(name);
  const uint32_t first = head == heads_.end() ? no_cell : head->second;
  for (uint32_t at = first; at != no_cell; at = cells_[at].next) {
    if (cells_[at].slot != slot) continue;
    cells_[at].tiers |= bit_of(tier);
    return true;
  }
  if (num_residences() >= residences_max_) return false;
  const Cell cell{first, slot, bit_of(tier)};
  uint32_t added = 0;
  if (free_cells_.empty()) {
    added = static_cast<uint32_t>(cells_.size());
    cells_.push_back(cell);
  } else {
    added = free_cells_.back();
    free_cells_.pop_back();
    cells_[added] = cell;
  }
  if (head == heads_.end()) {
    heads_.emplace(name, added);
  } else {
    head->second = added;
  }
  ++workers_[slot].residences;
  return true;
}

void ClusterIndex::unlink(uint32_t* link) {
  const uint32_t cell = *link;
  *link = cells_[cell].next;
  --workers_[cells_[cell].slot].residences;
  free_cells_.push_back(cell);
}

void ClusterIndex::drop(uint16_t slot, Tier tier, const BlockName& name) {
  const auto head = heads_.find(name);
  if (head == heads_.end()) return;
  for (uint32_t* link = &head->second; *link != no_cell; link = &cells_[*link].next) {
    Cell& cell = cells_[*link];
    if (cell.slot != slot) continue;
    cell.tiers &= static_cast<uint8_t>(~bit_of(tier));
    if (cell.tiers == 0) unlink(link);
    break;
  }
  if (head->second == no_cell) heads_.erase(head);
}

void ClusterIndex::drop_all(uint16_t slot) {
  // A walk over everything, because workers go rarely and a list per worker would cost every block.
  if (workers_[slot].residences == 0) return;
  for (auto head = heads_.begin(); head != heads_.end();) {
    for (uint32_t* link = &head->second; *link != no_cell; link = &cells_[*link].next) {
      if (cells_[*link].slot != slot) continue;
      unlink(link);
      break;
    }
    head = head->second == no_cell ? heads_.erase(head) : std::next(head);
  }
}

std::vector<WorkerMatch> ClusterIndex::match(std::span<const BlockName> names) const {
  std::vector<WorkerMatch> matches;
  std::vector<uint32_t> position(workers_.size(), UINT32_MAX);  // slot -> index in matches
  for (size_t i = 0; i < names.size(); ++i) {
    const auto head = heads_.find(names[i]);
    if (head == heads_.end()) break;
    bool extended = false;
    for (uint32_t at = head->second; at != no_cell; at = cells_[at].next) {
      const Cell& cell = cells_[at];
      if (i == 0) {
        position[cell.slot] = static_cast<uint32_t>(matches.size());
        matches.push_back({workers_[cell.slot].id, 0, {}});
      }
      if (position[cell.slot] == UINT32_MAX) continue;
      WorkerMatch& match = matches[position[cell.slot]];
      if (match.blocks != i) continue;
      ++match.blocks;
      ++match.by_tier[static_cast<size_t>(std::countr_zero(cell.tiers))];
      extended = true;
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
    const auto head = heads_.find(names[i]);
    if (head == heads_.end()) continue;
    for (uint32_t at = head->second; at != no_cell && tiers[i] == 0; at = cells_[at].next) {
      if (cells_[at].slot == slot->second) tiers[i] = cells_[at].tiers;
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
