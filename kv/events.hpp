// What a worker tells routers about its blocks: ordered, numbered events, and snapshots that heal a
// gap. "removed" is said only when the last copy in a tier is gone.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "kv/block_name.hpp"
#include "kv/limits.hpp"

namespace troupe::kv {

enum class Tier : uint8_t { device = 0, host = 1, disk = 2 };

struct Event {
  uint64_t number = 0;  ///< 1, 2, 3, … without holes within one incarnation
  bool stored = true;   ///< false: removed
  Tier tier = Tier::device;
  BlockName name;
};

/// Keeps the newest events so that a subscriber that is slightly behind needs no snapshot.
class EventLog {
 public:
  explicit EventLog(size_t kept_max = limits::events_kept_max) : kept_max_(kept_max) {}

  void append(bool stored, Tier tier, const BlockName& name);
  [[nodiscard]] uint64_t last_number() const { return last_number_; }
  /// Events with number > after, at most `count_max`; nothing (nullopt) when that reaches back
  /// beyond what is kept: take a snapshot then.
  [[nodiscard]] std::optional<std::vector<Event>> since(uint64_t after, size_t count_max) const;

 private:
  size_t kept_max_;
  uint64_t last_number_ = 0;
  std::deque<Event> kept_;
};

}  // namespace troupe::kv
