// One worker's reuse index: block name -> page, least recently used out first. A block enters only
// when every layer was written and its checksum was taken.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kv/block_name.hpp"
#include "kv/events.hpp"
#include "kv/pool.hpp"

namespace troupe::kv {

struct IndexedBlock {
  PageId page = no_page;
  uint32_t checksum = 0;  ///< CRC-32C of the page's bytes
};

class LocalIndex final : private PoolWatcher {
 public:
  /// Both must outlive the index. The index becomes the pool's watcher.
  LocalIndex(Pool& pool, EventLog& events);
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
  /// A block, or only the place of one (page == no_page) that has children here: a chain's root, or
  /// a parent that was never indexed.
  struct Node {
    BlockName name;
    IndexedBlock block;
    Node* parent = nullptr;
    uint32_t children = 0;
    uint32_t busy_children = 0;
    uint64_t last_use = 0;
    bool shared = false;  ///< somebody else holds the page as well

    [[nodiscard]] bool present() const { return block.page != no_page; }
    /// Can't go: it or a descendant is in use.
    [[nodiscard]] bool busy() const { return shared || busy_children > 0; }
    [[nodiscard]] bool evictable_now() const { return present() && !shared && children == 0; }
  };

  void on_shared(PageId id) override;
  void on_unshared(PageId id) override;

  Node& node(const BlockName& name);
  void touch(Node& node);
  /// Applies `change` to a node and brings the counters, its ancestors and `leaves_` up to date.
  template <class Change>
  void update(Node& node, Change change);
  void remove(Node& node);

  Pool& pool_;
  EventLog& events_;
  std::unordered_map<BlockName, Node, BlockNameHash> nodes_;
  std::vector<Node*> by_page_;
  std::set<std::pair<uint64_t, Node*>> leaves_;  ///< evictable_now(), oldest first
  uint64_t uses_ = 0;
  size_t num_blocks_ = 0;
  uint32_t num_idle_ = 0;
};

}  // namespace troupe::kv
