// Pages and blocks: finding them in the index, reserving them under pressure, indexing full ones.
#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "engine/engine_impl.hpp"

namespace troupe::engine {

void Engine::Impl::truncate_pages(Sequence& s, uint32_t num_pages) {
  // Last block first, so that the least recently used block of a chain is its end.
  while (s.num_pages() > num_pages) {
    pool.release(s.pages.back());
    s.pages.pop_back();
  }
}

void Engine::Impl::drop_blocks(Sequence& s) {
  truncate_pages(s, 0);
  s.num_computed = 0;
  s.num_indexed = 0;
  if (!s.started) s.num_cached = 0;
}

bool Engine::Impl::reserve(Sequence& s, uint32_t num_pages, Pressure pressure) {
  const uint32_t before = s.num_pages();
  while (s.num_pages() < num_pages) {
    if (const auto page = pool.allocate()) {
      s.pages.push_back(*page);
      continue;
    }
    if (index.evict(num_pages - s.num_pages()) > 0) continue;
    if (pressure >= Pressure::strip && strip_youngest_waiting(s)) continue;
    if (pressure >= Pressure::preempt && preempt_youngest(s)) continue;
    truncate_pages(s, before);
    is_short_of_pages = true;
    return false;
  }
  return true;
}

bool Engine::Impl::strip_youngest_waiting(const Sequence& except) {
  for (auto it = waiting.rbegin(); it != waiting.rend(); ++it) {
    Sequence& s = *it->second;
    if (&s == &except || s.pages.empty()) continue;
    drop_blocks(s);
    return true;
  }
  return false;
}

bool Engine::Impl::preempt_youngest(const Sequence& younger_than) {
  if (running.empty() || running.rbegin()->first <= younger_than.id) return false;
  preempt(*running.rbegin()->second);
  return true;
}

void Engine::Impl::preempt(Sequence& s) {
  leave_queues(s);
  drop_blocks(s);
  s.state = SequenceState::waiting;
  waiting.emplace(s.id, &s);
  ++counters.preemptions;
}

void Engine::Impl::match_blocks(Sequence& s) {
  const uint32_t first = s.num_indexed;
  const std::span<const kv::BlockName> names = matchable(s);
  if (first < names.size() && index.find(names[first]).has_value()) {
    const std::vector<kv::IndexedBlock> found = index.match(names.subspan(first));
    for (uint32_t i = 0; i < found.size(); ++i) {
      if (first + i < s.num_pages()) {
        pool.release(s.pages[first + i]);
        s.pages[first + i] = found[i].page;
      } else {
        s.pages.push_back(found[i].page);
      }
    }
    s.num_indexed = first + static_cast<uint32_t>(found.size());
    counters.cached_tokens += s.num_indexed * block_tokens - s.num_computed;
    s.num_computed = s.num_indexed * block_tokens;
    if (!s.prefill_only) s.num_announced = std::max(s.num_announced, s.num_indexed);
    if (!s.started) s.num_cached = s.num_indexed;
    unclaim(s, std::min(s.num_indexed, s.claims_end));
  }
  if (s.prefill_only && s.num_announced < s.num_indexed) untold.insert(s.id);
  if (s.prefill_only && s.remaining(block_tokens) == 0) complete(s, FinishReason::prefilled);
}

std::span<const kv::BlockName> Engine::Impl::matchable(const Sequence& s) const {
  const std::span<const kv::BlockName> names(s.names);
  if (s.prefill_only) return names;
  if (s.state == SequenceState::waiting && backend.capabilities().host_memory) return names;
  return names.first(std::min<size_t>(names.size(), (s.num_tokens() - 1) / block_tokens));
}

void Engine::Impl::copy_last_block(Sequence& s) {
  const uint32_t last = s.num_indexed - 1;
  std::swap(s.pages[last], s.pages.back());
  std::memcpy(pool.page(s.pages[last]), pool.page(s.pages.back()), pool.layout().block_bytes());
  truncate_pages(s, s.num_indexed);
  s.num_indexed = last;
  s.num_computed = s.num_tokens() - 1;
  counters.cached_tokens -= 1;
}

void Engine::Impl::give_up_last_block(Sequence& s) {
  truncate_pages(s, --s.num_indexed);
  s.num_computed = s.num_indexed * block_tokens;
  counters.cached_tokens -= block_tokens;
}

void Engine::Impl::index_blocks(Sequence& s) {
  // A sequence ended in mid-step may have computed a block that its tokens do not name yet.
  const uint32_t full = std::min(s.num_computed / block_tokens, s.num_names());
  for (; s.num_indexed < full; ++s.num_indexed) {
    const uint32_t block = s.num_indexed;
    const kv::BlockName& parent = block == 0 ? s.root : s.names[block - 1];
    const kv::IndexedBlock entry = index.insert(s.names[block], parent, s.pages[block]);
    if (entry.page == s.pages[block]) continue;
    // Another sequence was first with the same block: one copy is enough.
    pool.retain(entry.page);
    pool.release(s.pages[block]);
    s.pages[block] = entry.page;
  }
  unclaim(s, std::min(s.num_indexed, s.claims_end));
}

void Engine::Impl::announce(Sequence& s, Outcome& out) {
  for (; s.num_announced < s.num_indexed; ++s.num_announced) {
    const kv::BlockName& block_name = s.names[s.num_announced];
    if (const auto block = index.find(block_name)) {
      out.blocks.push_back({s.id, s.num_announced, block_name, *block});
    }
  }
}

void Engine::Impl::claim(Sequence& s) {
  s.claims_begin = s.num_indexed;
  s.claims_end = s.num_names();
  for (uint32_t i = s.claims_begin; i < s.claims_end; ++i) claims.try_emplace(s.names[i], s.id);
}

void Engine::Impl::unclaim(Sequence& s, uint32_t end) {
  for (; s.claims_begin < end; ++s.claims_begin) {
    const auto found = claims.find(s.names[s.claims_begin]);
    if (found != claims.end() && found->second == s.id) claims.erase(found);
  }
}

bool Engine::Impl::claimed_by_other(const Sequence& s) const {
  if (s.num_indexed >= s.num_names()) return false;
  const auto found = claims.find(s.names[s.num_indexed]);
  return found != claims.end() && found->second != s.id;
}

}  // namespace troupe::engine
