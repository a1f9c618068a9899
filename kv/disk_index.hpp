// Which block lies where on disk, in 52 to 60 bytes a block. Made anew from the segments at every
// start: what a segment says of itself is the only truth, so no crash can make the two differ.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "kv/segment_format.hpp"
#include "kv/slot_table.hpp"

namespace troupe::kv {

struct DiskPlace {
  uint32_t segment = 0;  ///< its number
  uint32_t place = 0;    ///< of the record in it

  bool operator==(const DiskPlace&) const = default;
};

struct DiskBlock {
  RecordHead head;
  DiskPlace at;
  bool used = false;  ///< read since it was written there
};

class DiskIndex {
 public:
  /// The block is here from now on, whether it was known before or not; it counts as unused.
  void put(const RecordHead& head, DiskPlace at);
  [[nodiscard]] std::optional<DiskBlock> find(const BlockName& name) const;
  void use(const BlockName& name);
  void erase(const BlockName& name);

  [[nodiscard]] size_t size() const { return slots_.size() - num_free_; }
  /// What the index takes.
  [[nodiscard]] size_t bytes() const { return slots_.size() * sizeof(Slot) + table_.bytes(); }
  /// Calls `use(const DiskBlock&)` for every block, in no particular order.
  template <class Use>
  void each(Use use) const {
    for (const Slot& slot : slots_) {
      if (slot.segment != unused) use(to_block(slot));
    }
  }

 private:
  static constexpr uint32_t unused = UINT32_MAX;
  struct Slot {
    BlockName name;
    BlockName parent;
    uint32_t checksum = 0;  ///< of a free slot: the next free one
    uint32_t segment = unused;
    uint16_t place = 0;
    uint8_t priority = 0;
    bool used = false;
  };
  static_assert(sizeof(Slot) == 44);

  [[nodiscard]] auto name_of() const {
    return [this](uint32_t slot) -> const BlockName& { return slots_[slot].name; };
  }
  [[nodiscard]] static DiskBlock to_block(const Slot& slot) {
    return {{slot.name, slot.parent, slot.checksum, slot.priority},
            {slot.segment, slot.place},
            slot.used};
  }
  uint32_t take_slot();

  std::deque<Slot> slots_;  ///< grows without copying
  SlotTable table_{0};
  size_t table_room_ = 0;
  uint32_t first_free_ = SlotTable::none;
  size_t num_free_ = 0;
};

}  // namespace troupe::kv
