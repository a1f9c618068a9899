// One worker's reuse index: block name -> page, least recently used out first. A block enters only
// when every layer was written and its checksum was taken.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kv/block_name.hpp"
#include "kv/events.hpp"
#include "kv/pool.hpp"
#include "kv/slot_table.hpp"

namespace troupe::kv {

struct IndexedBlock {
  PageId page = no_page;
  uint32_t checksum = 0;  ///< CRC-32C of the page's bytes
};

class LocalIndex final : private PoolWatcher {
 public:
  /// Both must outlive the index. The index becomes the pool's watcher. Uses are numbered from
  /// `first_use` on; where numbers end, they are given anew.
  LocalIndex(Pool& pool, EventLog& events, uint32_t first_use = 0);
  ~LocalIndex();
  LocalIndex(const LocalIndex&) = delete;
  LocalIndex& operator=(const LocalIndex&) = delete;

  /// Pages of the longest prefix of `names` that is here; one reference each is added for the
  /// caller, and they become the most recently used.
  std::vector<IndexedBlock> match(std::span<const BlockName> names);

  /// The block, without adding a reference or touching its age.
  [[nodiscard]] std::optional<IndexedBlock> find(const BlockName& name) const;

  /// The name that an indexed block follows in its chain (the root's for the first one).
  [[nodiscard]] std::optional<BlockName> parent(const BlockName& name) const;

  /// Indexes a full page under `name`; the index adds its own reference and takes the checksum.
  /// Returns the entry that is indexed: an earlier page of the same name stays (the caller may
  /// switch to it and release its own). The page must not be indexed under another name.
  IndexedBlock insert(const BlockName& name, const BlockName& parent, PageId page);

  /// Frees up to `pages` pages that only the index holds, oldest first, children before parents.
  /// Returns how many became free.
  uint32_t evict(uint32_t pages);

  /// Pages that evict() could free now: held by the index alone, and no descendant is held by
  /// anybody else. Costs nothing.
  [[nodiscard]] uint32_t num_evictable() const { return num_idle_; }
  /// Indexed blocks.
  [[nodiscard]] size_t size() const { return num_blocks_; }
  /// All names, for snapshots, in no particular order.
  [[nodiscard]] std::vector<BlockName> names() const;
  /// Forgets everything that only the index holds.
  void clear();

 private:
  /// A page, or behind all pages a place: a name that is not here and that blocks here follow (a
  /// chain's root, or a parent that comes later or never).
  using Slot = uint32_t;
  static constexpr Slot none = SlotTable::none;

  /// 40 bytes: there is one for each page of the pool, used or not.
  struct Node {
    BlockName name;
    uint32_t checksum = 0;
    /// Where the name before it lies. Of a place: the page that has got its name since.
    Slot parent = none;
    uint32_t busy_children = 0;
    uint32_t last_use = 0;
    uint32_t rank = 0;  ///< where it stands in `oldest_`, if it does
    uint32_t children : 28 = 0;
    uint32_t named : 1 = 0;    ///< in `table_`
    uint32_t present : 1 = 0;  ///< indexed
    uint32_t shared : 1 = 0;   ///< somebody else holds the page as well
    uint32_t listed : 1 = 0;   ///< in `oldest_`

    /// Can't go: it or a descendant is in use.
    [[nodiscard]] bool busy() const { return shared || busy_children > 0; }
    [[nodiscard]] bool idle() const { return present && !busy(); }
    [[nodiscard]] bool evictable_now() const { return present && !shared && children == 0; }
  };

  void on_shared(PageId id) override;
  void on_unshared(PageId id) override;

  [[nodiscard]] bool is_place(Slot slot) const { return slot >= nodes_.size(); }
  [[nodiscard]] Node& node(Slot slot) {
    return is_place(slot) ? places_[slot - nodes_.size()] : nodes_[slot];
  }
  [[nodiscard]] const Node& node(Slot slot) const {
    return is_place(slot) ? places_[slot - nodes_.size()] : nodes_[slot];
  }
  [[nodiscard]] IndexedBlock block_of(Slot page) const { return {page, nodes_[page].checksum}; }
  /// The slot itself, or the page that a place has become.
  [[nodiscard]] Slot resolve(Slot slot) const;
  [[nodiscard]] Slot find_slot(const BlockName& name) const;
  Slot find_or_add_place(const BlockName& name);
  void drop_place(Slot place);
  void add_name(Slot slot);
  void drop_name(Slot slot);
  void touch(Slot page);
  uint32_t next_use();
  void number_uses_anew();
  static void count_child(Node& node, int more) {
    node.children = (node.children + static_cast<uint32_t>(more)) & 0x0fffffffu;
  }
  /// Applies `change` to a node and brings the counters, its ancestors and `oldest_` up to date.
  template <class Change>
  void update(Slot slot, Change change);
  void remove(Slot page);

  // local_index_oldest.cpp: a binary heap of pages that could go now, by last_use.
  void list(Slot page);
  void unlist(Slot page);
  void put(uint32_t at, Slot page);
  void sift(uint32_t at, Slot page);

  Pool& pool_;
  EventLog& events_;
  std::vector<Node> nodes_;   ///< by page
  std::vector<Node> places_;  ///< their slots go on behind the pages
  std::vector<Slot> free_places_;
  size_t table_room_, num_names_ = 0;
  SlotTable table_;
  std::vector<Slot> oldest_;
  uint32_t uses_;
  size_t num_blocks_ = 0;
  uint32_t num_idle_ = 0;
};

}  // namespace troupe::kv
