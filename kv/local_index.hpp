// One worker's reuse index: block name -> page, least recently used out first. A block enters only
// when every layer was written and its checksum was taken.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "kv/block_name.hpp"
#include "kv/events.hpp"
#include "kv/pool.hpp"

namespace troupe::kv {

struct IndexedBlock {
  PageId page = no_page;
  uint32_t checksum = 0;  ///< CRC-32C of the page's bytes
};

class LocalIndex {
 public:
  /// Both must outlive the index.
  LocalIndex(Pool& pool, EventLog& events);

  /// Pages of the longest prefix of `names` that is here; one reference each is added for the
  /// caller, and they become the most recently used.
  std::vector<IndexedBlock> match(std::span<const BlockName> names);

  /// The block, without adding a reference or touching its age.
  [[nodiscard]] std::optional<IndexedBlock> find(const BlockName& name) const;

  /// Indexes a full page under `name`; the index adds its own reference and takes the checksum.
  /// Returns the entry that is indexed: an earlier page of the same name stays (the caller may
  /// switch to it and release its own).
  IndexedBlock insert(const BlockName& name, const BlockName& parent, PageId page);

  /// Frees up to `pages` pages that only the index holds, oldest first, children before parents.
  /// Returns how many became free.
  uint32_t evict(uint32_t pages);

  /// Pages that evict() could free now.
  [[nodiscard]] uint32_t num_evictable() const;
  [[nodiscard]] size_t size() const { return entries_.size(); }
  /// All names, for snapshots.
  [[nodiscard]] std::vector<BlockName> names() const;
  /// Forgets everything that only the index holds.
  void clear();

 private:
  struct Entry {
    IndexedBlock block;
    BlockName parent;
    uint32_t children = 0;
    std::list<BlockName>::iterator age;
  };

  void remove(const BlockName& name);

  Pool& pool_;
  EventLog& events_;
  std::unordered_map<BlockName, Entry, BlockNameHash> entries_;
  std::list<BlockName> ages_;  ///< front: oldest
};

}  // namespace troupe::kv
