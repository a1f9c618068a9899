// All workers' blocks as a router knows them: who holds which block in which tier, kept right by
// numbered events and healed by snapshots. Not thread-safe: it belongs to one router.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "kv/block_name.hpp"
#include "kv/events.hpp"
#include "kv/limits.hpp"
#include "kv/slot_table.hpp"

namespace troupe::kv {

inline constexpr size_t num_tiers = 3;

/// What became of an event or a snapshot.
enum class Applied : uint8_t {
  applied,
  duplicate,          ///< an event that was known already: nothing to do
  gap,                ///< events are missing before this one: ask the worker for a snapshot
  stale_incarnation,  ///< not said by the process that begin() announced: ignore it
  over_limit,         ///< the index is full (kv/limits.hpp); this block was not taken in
};
const char* name(Applied applied);

/// A block of a snapshot and where it lies.
struct Residence {
  BlockName name;
  Tier tier = Tier::device;
};

struct WorkerMatch {
  std::string worker;
  uint32_t blocks = 0;  ///< length of the prefix that the worker holds, whatever the tier
  /// Blocks of that prefix by the fastest tier that holds them; they add up to `blocks`.
  std::array<uint32_t, num_tiers> by_tier{};
};

class ClusterIndex {
 public:
  explicit ClusterIndex(size_t residences_max = limits::residences_max)
      : residences_max_(residences_max) {}

  /// A process has joined under this name: it holds nothing until its events or its snapshot say
  /// so, and earlier incarnations are not believed any more (incarnations are random numbers, so
  /// their order says nothing). The same incarnation again changes nothing. False: too many
  /// workers.
  bool begin(const std::string& worker, uint64_t incarnation);

  /// Takes in one event. After a gap nothing is taken from that worker until a snapshot, or the
  /// missing events, have come.
  Applied apply(const std::string& worker, uint64_t incarnation, const Event& event);

  /// Replaces everything that is known of the worker by what it held right after event
  /// `last_number`.
  Applied apply_snapshot(const std::string& worker, uint64_t incarnation, uint64_t last_number,
                         std::span<const Residence> blocks);

  /// Forgets a worker and its blocks.
  void remove_worker(const std::string& worker);

  /// For each worker that holds at least the first block: how long a prefix it holds. Longest
  /// first, then by name.
  [[nodiscard]] std::vector<WorkerMatch> match(std::span<const BlockName> names) const;

  /// Where one worker (or store) holds each of the blocks: bit t for tier t, 0 for not at all.
  [[nodiscard]] std::vector<uint8_t> tiers(const std::string& worker,
                                           std::span<const BlockName> names) const;

  /// Number of the last event taken in from the worker; nothing if it is unknown.
  [[nodiscard]] std::optional<uint64_t> last_number(const std::string& worker) const;
  [[nodiscard]] size_t num_workers() const { return slots_by_worker_.size(); }
  /// Different blocks, and (block, worker) pairs.
  [[nodiscard]] size_t num_blocks() const { return heads_.size() - free_heads_.size(); }
  [[nodiscard]] size_t num_residences() const {
    return num_blocks() + cells_.size() - free_cells_.size();
  }
  /// Blocks of one worker; 0 if it is unknown.
  [[nodiscard]] size_t num_blocks_of(const std::string& worker) const;

 private:
  static constexpr uint32_t no_cell = UINT32_MAX;
  /// A (block, worker) pair.
  struct Cell {
    uint32_t next;  ///< in `cells_`
    uint16_t slot;
    uint8_t tiers;  ///< bit t: in tier t
  };
  /// A block with the first of its holders: the common one has no other, a hot prefix has as many
  /// as there are workers.
  struct Head {
    BlockName name;
    Cell first{no_cell, 0, 0};  ///< without tiers: this head is free
  };
  struct Worker {
    std::string id;
    uint64_t incarnation = 0;
    uint64_t last_number = 0;
    size_t residences = 0;
  };
  /// Nothing unless begin() announced this incarnation.
  [[nodiscard]] std::optional<uint16_t> slot_of(const std::string& worker,
                                                uint64_t incarnation) const;
  [[nodiscard]] auto name_of() const {
    return [this](uint32_t head) -> const BlockName& { return heads_[head].name; };
  }
  /// Fetches what match() reads `names[at]` by, in two steps: most of a look-up is waiting for it.
  void prefetch(std::span<const BlockName> names, size_t at) const;
  bool store(uint16_t slot, Tier tier, const BlockName& name);
  void add_head(const BlockName& name, const Cell& first);
  void add_cell(Head& head, Cell cell);
  /// Takes tiers from what the worker holds of the block; the head may be free afterwards.
  void drop(uint16_t slot, uint8_t tiers, uint32_t head);
  void drop_all(uint16_t slot);

  size_t residences_max_;
  std::deque<Head> heads_;  ///< grows without copying
  SlotTable table_{0};      ///< of heads
  size_t table_room_ = 0;
  std::vector<uint32_t> free_heads_;
  std::deque<Cell> cells_;  ///< second and further holders
  std::vector<uint32_t> free_cells_;
  std::vector<Worker> workers_;  ///< by slot
  std::vector<uint16_t> free_slots_;
  std::unordered_map<std::string, uint16_t> slots_by_worker_;
};

}  // namespace troupe::kv
