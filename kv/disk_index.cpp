#include "kv/disk_index.hpp"

#include <algorithm>

namespace troupe::kv {

void DiskIndex::put(const RecordHead& head, DiskPlace at) {
  uint32_t index = table_.find(head.name, name_of());
  if (index == SlotTable::none) {
    index = take_slot();
    slots_[index].name = head.name;
    table_.insert(head.name, index);
  }
  slots_[index] = {
      head.name,     head.parent, head.checksum, at.segment, static_cast<uint16_t>(at.place),
      head.priority, false};
}

uint32_t DiskIndex::take_slot() {
  if (first_free_ != SlotTable::none) {
    const uint32_t index = first_free_;
    first_free_ = slots_[index].checksum;
    --num_free_;
    return index;
  }
  const auto index = static_cast<uint32_t>(slots_.size());
  slots_.emplace_back();
  if (slots_.size() > table_room_) {
    constexpr size_t room_min = 1024;
    table_room_ = std::max(room_min, 2 * table_room_);
    table_ = SlotTable(table_room_);
    for (uint32_t i = 0; i < index; ++i) table_.insert(slots_[i].name, i);
  }
  return index;
}

std::optional<DiskBlock> DiskIndex::find(const BlockName& name) const {
  const uint32_t index = table_.find(name, name_of());
  if (index == SlotTable::none) return std::nullopt;
  return to_block(slots_[index]);
}

void DiskIndex::use(const BlockName& name) {
  const uint32_t index = table_.find(name, name_of());
  if (index != SlotTable::none) slots_[index].used = true;
}

void DiskIndex::erase(const BlockName& name) {
  const uint32_t index = table_.find(name, name_of());
  if (index == SlotTable::none) return;
  table_.erase(name, name_of());
  slots_[index] = Slot();
  slots_[index].checksum = first_free_;
  first_free_ = index;
  ++num_free_;
}

}  // namespace troupe::kv
