#include "text/section_memo.hpp"

namespace troupe::text {

Digest SectionMemo::key(std::string_view section, uint64_t kind, std::string_view scope) {
  Sha256 hash;
  hash.update_u64(kind);
  hash.update_u64(scope.size());
  hash.update(scope);
  hash.update(section);
  return hash.finish();
}

bool SectionMemo::append(const Digest& key, std::vector<int32_t>& ids) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return false;
  entries_.splice(entries_.begin(), entries_, found->second);
  const std::vector<int32_t>& kept = found->second->ids;
  ids.insert(ids.end(), kept.begin(), kept.end());
  return true;
}

void SectionMemo::keep(const Digest& key, std::vector<int32_t> ids) {
  if (ids.size() > ids_max_) return;
  const std::lock_guard lock(mutex_);
  if (by_key_.contains(key)) return;
  num_ids_ += ids.size();
  entries_.push_front({key, std::move(ids)});
  by_key_.emplace(key, entries_.begin());
  while (num_ids_ > ids_max_) {
    num_ids_ -= entries_.back().ids.size();
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

}  // namespace troupe::text
