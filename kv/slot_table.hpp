// Block name -> slot number: open addressing with linear probing, four bytes a cell. The names lie
// in the slots themselves, so the table asks for them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kv/block_name.hpp"

namespace troupe::kv {

class SlotTable {
 public:
  static constexpr uint32_t none = UINT32_MAX;
  /// Cells per name at least: the fewer, the longer a look-up goes on.
  static constexpr double roomy = 2.0, dense = 1.6;

  /// Room for `slots` names.
  explicit SlotTable(size_t slots, double cells_per_name = roomy)
      : cells_(static_cast<size_t>(static_cast<double>(slots) * cells_per_name) + 2, none) {}

  /// The slot of the name, or none. `name_of(slot)` gives the name that lies in a slot.
  template <class NameOf>
  [[nodiscard]] uint32_t find(const BlockName& name, const NameOf& name_of) const {
    for (size_t at = home(name);; at = next(at)) {
      if (cells_[at] == none || name_of(cells_[at]) == name) return cells_[at];
    }
  }

  /// For whoever looks up many names: fetches what a look-up reads first, a while before.
  void prefetch(const BlockName& name) const { __builtin_prefetch(&cells_[home(name)]); }
  /// The slot where the name probably lies, or none.
  [[nodiscard]] uint32_t guess(const BlockName& name) const { return cells_[home(name)]; }

  /// The name must not be there yet.
  void insert(const BlockName& name, uint32_t slot) {
    size_t at = home(name);
    while (cells_[at] != none) at = next(at);
    cells_[at] = slot;
  }

  /// Takes the name out, if it is there, and closes the gap so that no marker is left.
  template <class NameOf>
  void erase(const BlockName& name, const NameOf& name_of) {
    size_t gap = home(name);
    while (cells_[gap] != none && name_of(cells_[gap]) != name) gap = next(gap);
    if (cells_[gap] == none) return;
    for (size_t at = next(gap); cells_[at] != none; at = next(at)) {
      // A name may fill the gap unless its home lies behind the gap.
      const size_t from_home = distance(home(name_of(cells_[at])), at);
      if (from_home < distance(gap, at)) continue;
      cells_[gap] = cells_[at];
      gap = at;
    }
    cells_[gap] = none;
  }

  [[nodiscard]] size_t bytes() const { return cells_.size() * sizeof cells_[0]; }

 private:
  /// The upper bits of the product choose the cell: as many cells as are needed, no power of two.
  [[nodiscard]] size_t home(const BlockName& name) const {
    const uint64_t mixed = BlockNameHash{}(name)*0x9E3779B97F4A7C15u;
    return static_cast<size_t>((static_cast<unsigned __int128>(mixed) * cells_.size()) >> 64);
  }
  [[nodiscard]] size_t next(size_t at) const { return at + 1 == cells_.size() ? 0 : at + 1; }
  [[nodiscard]] size_t distance(size_t from, size_t to) const {
    return to >= from ? to - from : to + cells_.size() - from;
  }

  std::vector<uint32_t> cells_;
};

}  // namespace troupe::kv
