// Blocks of one worker that stay in its index for a time because somebody asked for it: a pin holds
// its page like a reader does. Bounded, and fair between roots (which are tenants): a pin may be
// refused or end early. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <unordered_map>

#include "base/clock.hpp"
#include "kv/block_name.hpp"
#include "kv/local_index.hpp"
#include "kv/pool.hpp"

namespace troupe::kv {

class Pins {
 public:
  /// Of at most `pages_max` pages together. Pool and index must outlive the pins.
  Pins(Pool& pool, const LocalIndex& index, uint32_t pages_max)
      : pool_(pool), index_(index), pages_max_(pages_max) {}
  ~Pins() { give_up(SIZE_MAX); }
  Pins(const Pins&) = delete;
  Pins& operator=(const Pins&) = delete;

  /// Pins the blocks of `names`, a chain below `root`, until `now + ttl`; what is pinned longer
  /// already stays so. Returns how many leading ones are pinned: up to the first that is not
  /// indexed or finds no room. Room is made at the expense of the root that has the most pins, of
  /// those of the same root only from pins that end sooner.
  uint32_t pin(std::span<const BlockName> names, const BlockName& root, TimeUs ttl, TimeUs now);
  /// Somebody used these blocks: the time of those that are pinned begins anew.
  void use(std::span<const BlockName> names, TimeUs now);
  /// Ends pins whose time is over.
  void expire(TimeUs now);
  /// Ends up to so many pins before their time, those that end soonest first; returns how many.
  size_t give_up(size_t pins);

  [[nodiscard]] size_t size() const { return pins_.size(); }

 private:
  struct Pin {
    PageId page = no_page;
    uint32_t position = 0;  ///< in its chain
    TimeUs until = 0;
    TimeUs ttl = 0;
    BlockName root;
  };
  /// The order in which pins go: the soonest first, of a chain its end before its beginning.
  struct Turn {
    TimeUs until = 0;
    uint32_t from_end = 0;
    BlockName name;
    auto operator<=>(const Turn&) const = default;
  };
  using Turns = std::set<Turn>;

  static Turn turn_of(const BlockName& name, const Pin& pin) {
    return {pin.until, UINT32_MAX - pin.position, name};
  }
  void renew(const BlockName& name, Pin& pin, TimeUs ttl, TimeUs now);
  bool make_room(const BlockName& root, TimeUs until);
  void end_first(std::map<BlockName, Turns>::iterator root);

  Pool& pool_;
  const LocalIndex& index_;
  uint32_t pages_max_;
  std::unordered_map<BlockName, Pin, BlockNameHash> pins_;
  std::map<BlockName, Turns> by_root_;  ///< none is empty
};

}  // namespace troupe::kv
