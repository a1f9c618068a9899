// Blocks that somebody else copies into a sequence's pages.
#include <algorithm>

#include "engine/engine_impl.hpp"

namespace troupe::engine {

std::vector<kv::PageId> Engine::Impl::expect_external(Sequence& s, uint32_t end_block) {
  if (s.state != SequenceState::waiting || s.started) return {};
  const uint32_t begin = s.num_indexed;
  const uint32_t end = std::min(end_block, s.num_names());
  // Fewer pages than asked for are of use too, so they are taken one by one.
  while (s.num_pages() < end && reserve(s, s.num_pages() + 1, Pressure::evict)) {
  }
  if (s.num_pages() == begin) return {};

  waiting.erase(s.id);
  s.state = SequenceState::held;
  s.started = true;
  ++num_held;
  const uint32_t count = s.num_pages() - begin;
  s.external = {begin, begin + count, count, std::vector<bool>(count, false)};
  claim(s);
  return {s.pages.begin() + begin, s.pages.end()};
}

void Engine::Impl::deliver_external(Sequence& s, uint32_t block) {
  ExternalBlocks& external = s.external;
  if (s.state != SequenceState::held || block < external.begin || block >= external.end) return;
  if (external.delivered[block - external.begin]) return;

  external.delivered[block - external.begin] = true;
  const kv::BlockName& parent = block == 0 ? s.root : s.names[block - 1];
  const kv::IndexedBlock entry = index.insert(s.names[block], parent, s.pages[block]);
  if (entry.page != s.pages[block]) {
    pool.retain(entry.page);
    pool.release(s.pages[block]);
    s.pages[block] = entry.page;
  }
  if (--external.missing == 0) stop_holding(s);
}

void Engine::Impl::stop_holding(Sequence& s) {
  const std::vector<bool>& delivered = s.external.delivered;
  const auto gap = std::find(delivered.begin(), delivered.end(), false);
  const uint32_t here = s.external.begin + static_cast<uint32_t>(gap - delivered.begin());

  unclaim(s, s.claims_end);
  --num_held;
  s.state = SequenceState::waiting;
  waiting.emplace(s.id, &s);
  // Delivered blocks behind the gap stay in the index and are found again when it is closed.
  truncate_pages(s, here);
  s.external = {};
  s.num_indexed = here;
  s.num_computed = here * block_tokens;
  if (!s.prefill_only) s.num_announced = std::max(s.num_announced, here);
  match_blocks(s);
}

}  // namespace troupe::engine
