// Blocks that somebody else copies into a sequence's pages.
#include <algorithm>

#include "engine/engine_impl.hpp"

namespace troupe::engine {

std::vector<kv::PageId> Engine::Impl::expect_external(Sequence& s, uint32_t end_block) {
  if (s.state != SequenceState::waiting || s.started) return {};
  const uint32_t begin = s.num_indexed;
  const uint32_t end = std::min(end_block, s.num_names());
  if (groups > 1 && end > begin) {
    // What the source keeps are the windows at the end: only all of it is of use.
    const uint32_t last = end * block_tokens - 1;
    if (!reserve(s, end, Pressure::evict)) return {};
    if (!reserve_windows(s, begin, end, last, Pressure::evict)) truncate_blocks(s, begin);
  }
  // Fewer pages than asked for are of use too, so they are taken one by one.
  while (groups == 1 && s.num_blocks() < end && reserve(s, s.num_blocks() + 1, Pressure::evict)) {
  }
  if (s.num_blocks() == begin) return {};

  waiting.erase(s.id);
  s.state = SequenceState::held;
  s.started = true;
  ++num_held;
  std::vector<kv::PageId> pages(s.pages.begin() + size_t{begin} * groups, s.pages.end());
  s.external = {begin, s.num_blocks(), 0, {}};
  for (const kv::PageId page : pages) {
    s.external.delivered.push_back(page == kv::no_page);
    s.external.missing += page == kv::no_page ? 0 : 1;
  }
  claim(s);
  return pages;
}

void Engine::Impl::deliver_external(Sequence& s, uint32_t page) {
  ExternalBlocks& external = s.external;
  const uint32_t block = page / groups;
  if (s.state != SequenceState::held || block < external.begin || block >= external.end) return;
  const size_t nth = page - size_t{external.begin} * groups;
  if (external.delivered[nth]) return;

  external.delivered[nth] = true;
  index_page(s, block, page % groups);
  if (--external.missing == 0) stop_holding(s);
}

void Engine::Impl::stop_holding(Sequence& s) {
  const std::vector<bool>& delivered = s.external.delivered;
  const auto gap = std::find(delivered.begin(), delivered.end(), false);
  uint32_t here = s.external.begin + static_cast<uint32_t>(gap - delivered.begin()) / groups;
  // Windows came for the end alone; what can be used of the rest is found in the index.
  if (groups > 1 && gap != delivered.end()) here = s.external.begin;

  unclaim(s, s.claims_end);
  --num_held;
  s.state = SequenceState::waiting;
  waiting.emplace(s.id, &s);
  // Delivered blocks behind the gap stay in the index and are found again when it is closed.
  truncate_blocks(s, here);
  s.external = {};
  s.num_indexed = here;
  s.num_computed = here * block_tokens;
  if (!s.prefill_only) s.num_announced = std::max(s.num_announced, here);
  match_blocks(s);
}

}  // namespace troupe::engine
