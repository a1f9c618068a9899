// All workers' blocks as a router knows them: who holds which block in which tier, kept right by
// numbered events and healed by snapshots. Not thread-safe: it belongs to one router.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "kv/block_name.hpp"
#include "kv/events.hpp"
#include "kv/limits.hpp"

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
  [[nodiscard]] size_t num_blocks() const { return heads_.size(); }
  [[nodiscard]] size_t num_residences() const { return cells_.size() - free_cells_.size(); }
  /// Blocks of one worker; 0 if it is unknown.
  [[nodiscard]] size_t num_blocks_of(const std::string& worker) const;

 private:
  // 8 bytes a (block, worker) pair, chained from `heads_`: the common block has one holder, a hot
  // prefix has as many as there are workers.
  struct Cell {
    uint32_t next;
    uint16_t slot;
    uint8_t tiers;  ///< bit t: in tier t
  };
  struct Worker {
    std::string id;
    uint64_t incarnation = 0;
    uint64_t last_number = 0;
    size_t residences = 0;
  };
  static constexpr uint32_t no_cell = UINT32_MAX;

  /// Nothing unless begin() announced this incarnation.
  [[nodiscard]] std::optional<uint16_t> slot_of(const std::string& worker,
                                                uint64_t incarnation) const;
  bool store(uint16_t slot, Tier tier, const BlockName& name);
  void drop(uint16_t slot, Tier tier, const BlockName& name);
  void drop_all(uint16_t slot);
  void unlink(uint32_t* link);

  size_t residences_max_;
  std::unordered_map<BlockName, uint32_t, BlockNameHash> heads_;  ///< first cell of a block
  std::vector<Cell> cells_;
  std::vector<uint32_t> free_cells_;
  std::vector<Worker> workers_;  ///< by slot
  std::vector<uint16_t> free_slots_;
  std::unordered_map<std::string, uint16_t> slots_by_worker_;
};

}  // namespace troupe::kv
