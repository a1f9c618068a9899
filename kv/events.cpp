#include "kv/events.hpp"

#include <algorithm>

namespace troupe::kv {

void EventLog::append(bool stored, Tier tier, const BlockName& name) {
  kept_.push_back({++last_number_, stored, tier, name});
  if (kept_.size() > kept_max_) kept_.pop_front();
}

std::optional<std::vector<Event>> EventLog::since(uint64_t after, size_t count_max) const {
  // A subscriber that is ahead of us has followed somebody else: it needs a snapshot as well.
  if (after > last_number_) return std::nullopt;
  const uint64_t missing = last_number_ - after;
  if (missing > kept_.size()) return std::nullopt;
  const auto first = kept_.end() - static_cast<std::ptrdiff_t>(missing);
  const auto count = std::min<uint64_t>(missing, count_max);
  return std::vector<Event>(first, first + static_cast<std::ptrdiff_t>(count));
}

}  // namespace troupe::kv
