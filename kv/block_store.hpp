// Full blocks that outlive the workers that made them: a tier in a Region of its own, with a limit
// in bytes. Least recently used out first, within priority, ends of chains before their beginnings;
// what was seen once does not push out what is asked for again and again, and a tenant that has its
// share makes room with its own blocks. Plain logic: somebody else moves the bytes. Not
// thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "kv/block_name.hpp"
#include "kv/events.hpp"
#include "kv/frequency_sketch.hpp"
#include "kv/layout.hpp"
#include "kv/local_index.hpp"
#include "kv/region.hpp"
#include "kv/slot_table.hpp"

namespace troupe::kv {

inline constexpr uint8_t num_priorities = 10;

/// In blocks, since the store was made; those above the line are what it holds now.
struct BlockStoreStats {
  uint32_t total = 0, free = 0, held = 0, arriving = 0, pinned = 0;
  // ---
  uint64_t hits = 0;     ///< pinned for a reader
  uint64_t misses = 0;   ///< asked for in vain, those behind the first missing one included
  uint64_t stored = 0;   ///< arrived whole, from wherever
  uint64_t evicted = 0;  ///< made room for others
  uint64_t refused = 0;  ///< offered, and no room was made
  uint64_t lost = 0;     ///< wanted, but did not arrive
  uint64_t corrupt = 0;  ///< found damaged here
};

/// A block that somebody has.
struct OfferedBlock {
  BlockName name;
  BlockName parent;       ///< of the block before it in its chain, or the chain's root
  uint32_t checksum = 0;  ///< CRC-32C of its bytes
  uint8_t priority = 5;   ///< 0 goes first
  /// The root of its chain, which stands for its tenant; all zero: that of its parent here, if any.
  BlockName root{};
};

class BlockStore {
 public:
  /// As many pages as fit into the region. `events` must outlive the store.
  BlockStore(Region region, size_t block_bytes, EventLog& events, Tier tier = Tier::host);

  // --- taking in ------------------------------------------------------------------------------
  enum class Verdict : uint8_t {
    wanted,    ///< a page is set aside: fill it, then arrived() or lost()
    held,      ///< it is here; it counts as used
    arriving,  ///< somebody else is bringing it
    refused,   ///< there is no room that it would deserve
  };
  struct Answer {
    Verdict verdict = Verdict::refused;
    PageId page = no_page;
  };
  Answer offer(const OfferedBlock& block);
  /// The same for a block that comes back from a slower tier because somebody waits for it: what is
  /// used least makes room, however often either was seen.
  Answer expect(const OfferedBlock& block);
  /// The page was filled and has its checksum: from now on the block is found.
  void arrived(PageId page);
  /// It was not: the page is free again.
  void lost(PageId page);

  // --- giving out -----------------------------------------------------------------------------
  /// The blocks of `names` that are here, up to the first that is not. They stay until unpin() of
  /// the same token or the time `until`. A token in use gets nothing.
  std::vector<IndexedBlock> pin(uint64_t token, std::span<const BlockName> names, TimeUs until);
  /// Pins one more page for the token, which may have none yet. Nothing unless a block is there.
  std::optional<IndexedBlock> pin_page(uint64_t token, PageId page, TimeUs until);
  /// The page of a block that is here; with its checksum; the block before it, if that is here too.
  [[nodiscard]] std::optional<PageId> page_of(const BlockName& name) const;
  [[nodiscard]] std::optional<IndexedBlock> block_of(const BlockName& name) const;
  [[nodiscard]] std::optional<BlockName> parent_of(const BlockName& name) const;
  /// Counts blocks that were asked for in vain elsewhere than in pin().
  void count_misses(size_t blocks) { stats_.misses += blocks; }
  /// For who writes a block elsewhere: it stays until let_go() of the page, which is no use
  /// of it.
  std::optional<PageId> hold(const BlockName& name);
  void hold_page(PageId page);
  void let_go(PageId page);
  /// Moves the end of the pins' time.
  void extend(uint64_t token, TimeUs until);
  void unpin(uint64_t token);
  /// Ends pins whose time is over, and says which.
  std::vector<uint64_t> expire(TimeUs now);
  /// A reader says that the page's bytes were not right. If they are not, the block is taken out at
  /// once (its page is free when the last pin is gone) and its name returned.
  std::optional<BlockName> recheck(uint64_t token, PageId page);

  [[nodiscard]] bool contains(const BlockName& name) const;
  /// Somebody fills the page, or reads it.
  [[nodiscard]] bool is_busy(PageId page) const {
    const Slot& slot = slots_[page];
    return slot.state == State::arriving || slot.pins > 0;
  }
  /// All names that can be given out, for snapshots, in no particular order.
  [[nodiscard]] std::vector<BlockName> names() const;
  /// The same, what is worth most first: chains by priority and last use, each from its beginning;
  /// those that somebody reads now come last.
  [[nodiscard]] std::vector<BlockName> names_by_worth() const;
  [[nodiscard]] BlockStoreStats stats() const;
  [[nodiscard]] size_t block_bytes() const { return block_bytes_; }
  [[nodiscard]] uint32_t num_pages() const { return static_cast<uint32_t>(slots_.size()); }
  [[nodiscard]] std::byte* page(PageId id) const {
    return region_.data + size_t{id} * block_bytes_;
  }
  /// Of those that are here or arrive, how many have this root.
  [[nodiscard]] uint32_t num_blocks_of(const BlockName& root) const;
  /// The root of the block's chain; all zero: not here, or not known.
  [[nodiscard]] BlockName root_of(const BlockName& name) const;
  /// What is spent on the pages besides their bytes: 54 to 60 a page.
  [[nodiscard]] size_t index_bytes() const {
    return slots_.size() * sizeof(Slot) + table_.bytes() + seen_.bytes();
  }

 private:
  enum class State : uint8_t {
    free,
    arriving,
    held,
    doomed,  ///< damaged and forgotten, but a reader still has it pinned
  };
  struct Slot {
    BlockName name;
    uint32_t checksum = 0;
    uint32_t older = no_page, newer = no_page;  ///< neighbours in its list; `newer` of a free slot
                                                ///< is the next free one
    uint32_t parent = no_page;                  ///< the slot of the block before it, if it is here
    uint32_t last_use = 0;
    uint32_t children : 20 = 0;
    uint32_t tenant : 12 = 0;  ///< in `tenants_`
    uint16_t pins = 0;
    uint8_t priority = 0;
    State state : 7 = State::free;
    /// Used since it had children: it does not go with the last of them.
    bool used : 1 = false;
  };
  static_assert(sizeof(Slot) == 44);
  static constexpr uint32_t children_max = (1u << 20) - 1, tenants_max = (1u << 12) - 1;
  /// Held blocks of one tenant and priority that could go: neither pinned nor with children here.
  struct List {
    uint32_t oldest = no_page, newest = no_page;
  };
  struct Tenant {
    BlockName root;
    uint32_t blocks = 0;  ///< here, or on their way
    std::array<List, num_priorities> lists;
  };
  struct Lease {
    std::vector<uint32_t> slots;
    TimeUs until = 0;
  };

  [[nodiscard]] auto name_of() const {
    return [this](uint32_t slot) -> const BlockName& { return slots_[slot].name; };
  }
  [[nodiscard]] uint32_t find(const BlockName& name) const { return table_.find(name, name_of()); }
  [[nodiscard]] static bool evictable(const Slot& slot) {
    return slot.state == State::held && slot.pins == 0 && slot.children == 0;
  }
  void link_newest(uint32_t slot);
  void link_oldest(uint32_t slot);
  void unlink(uint32_t slot);
  void touch(uint32_t slot);
  Answer take_in(const OfferedBlock& offered, bool is_wanted_now);
  uint32_t take_free_slot(const OfferedBlock& block);
  // block_store_room.cpp
  /// The tenant of a newcomer; one that has nothing here is nobody.
  [[nodiscard]] std::optional<uint32_t> tenant_of(const OfferedBlock& block) const;
  uint32_t join_tenant(const OfferedBlock& block);
  void leave_tenant(Slot& slot);
  [[nodiscard]] bool has_its_share(uint32_t tenant) const;
  /// The oldest that could go, but for `except`: of one tenant, or of all.
  [[nodiscard]] uint32_t oldest(uint8_t priority, uint32_t except,
                                std::optional<uint32_t> only) const;
  [[nodiscard]] List& list_of(const Slot& slot) {
    return tenants_[slot.tenant].lists[slot.priority];
  }
  static void count_child(Slot& slot, int more) {
    slot.children = (slot.children + static_cast<uint32_t>(more)) & children_max;
  }
  bool make_room(const OfferedBlock& block, bool is_wanted_now);
  void evict(uint32_t slot);
  /// Gives the slot back; children that it may have lose their parent.
  void release(uint32_t slot);
  void leave_parent(Slot& slot);
  /// False: it has as many pins as can be counted.
  bool add_pin(uint32_t slot);
  /// `is_use`: whoever pinned it used it.
  void release_pin(uint32_t slot, bool is_use);

  Region region_;
  size_t block_bytes_;
  EventLog& events_;
  Tier tier_;
  std::vector<Slot> slots_;
  SlotTable table_;
  FrequencySketch seen_;
  uint32_t first_free_ = no_page;
  std::vector<Tenant> tenants_;  ///< the first: of those whose root is not known, or too many
  std::unordered_map<BlockName, uint32_t, BlockNameHash> tenant_by_root_;
  std::vector<uint32_t> free_tenants_;
  uint32_t uses_ = 0;
  std::unordered_map<uint64_t, Lease> leases_;
  BlockStoreStats stats_;
};

}  // namespace troupe::kv
