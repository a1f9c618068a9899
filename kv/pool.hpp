// The paged pool of one layer group: fixed pages in a Region, reference-counted. Not thread-safe:
// it belongs to one worker's logic; backends only compute addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kv/layout.hpp"
#include "kv/region.hpp"

namespace troupe::kv {

/// Is told when a page starts or stops having more than one holder: what the index needs to keep
/// count of the pages that it alone holds.
class PoolWatcher {
 public:
  virtual void on_shared(PageId id) = 0;    ///< references went from 1 to 2
  virtual void on_unshared(PageId id) = 0;  ///< references went from 2 to 1

 protected:
  ~PoolWatcher() = default;
};

class Pool {
 public:
  /// As many pages as fit: region.bytes / layout.block_bytes().
  Pool(Region region, KvLayout layout);

  [[nodiscard]] uint32_t num_pages() const { return static_cast<uint32_t>(references_.size()); }
  [[nodiscard]] uint32_t num_free() const { return static_cast<uint32_t>(free_.size()); }
  [[nodiscard]] const KvLayout& layout() const { return layout_; }
  [[nodiscard]] const Region& region() const { return region_; }
  /// First byte of a page: [layout().block_bytes()].
  [[nodiscard]] std::byte* page(PageId id) const {
    return region_.data + size_t{id} * layout_.block_bytes();
  }

  /// A page with one reference, or nothing when all are in use. Its bytes are whatever its last
  /// holder left.
  std::optional<PageId> allocate();
  /// Adds a reference to a page in use.
  void retain(PageId id);
  /// Gives one reference back; the last one frees the page.
  void release(PageId id);
  [[nodiscard]] uint32_t references(PageId id) const { return references_[id]; }

  /// At most one watcher, which must outlive the pool or take itself off with nullptr.
  void watch(PoolWatcher* watcher) { watcher_ = watcher; }

 private:
  Region region_;
  KvLayout layout_;
  std::vector<uint32_t> references_;
  std::vector<PageId> free_;
  PoolWatcher* watcher_ = nullptr;
};

}  // namespace troupe::kv
