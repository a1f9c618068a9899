#include "kv/pool.hpp"

#include <algorithm>

#include "base/defect.hpp"

namespace troupe::kv {

Pool::Pool(Region region, KvLayout layout) : region_(std::move(region)), layout_(layout) {
  const size_t block_bytes = layout_.block_bytes();
  const size_t fitting = block_bytes == 0 ? 0 : region_.bytes / block_bytes;
  const size_t count = std::min<size_t>(fitting, no_page);
  references_.resize(count);
  free_.resize(count);
  // The last one is handed out first: start with page 0.
  for (size_t i = 0; i < count; ++i) free_[i] = static_cast<PageId>(count - 1 - i);
}

std::optional<PageId> Pool::allocate() {
  if (free_.empty()) return std::nullopt;
  const PageId id = free_.back();
  free_.pop_back();
  references_[id] = 1;
  return id;
}

void Pool::retain(PageId id) {
  if (id >= references_.size() || references_[id] == 0) defect("retain of a page not in use");
  if (++references_[id] == 2 && watcher_ != nullptr) watcher_->on_shared(id);
}

void Pool::release(PageId id) {
  if (id >= references_.size() || references_[id] == 0) defect("release of a page not in use");
  if (--references_[id] == 0) {
    free_.push_back(id);
  } else if (references_[id] == 1 && watcher_ != nullptr) {
    watcher_->on_unshared(id);
  }
}

}  // namespace troupe::kv
