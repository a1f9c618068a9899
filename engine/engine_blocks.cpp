// Pages and blocks: finding them in the index, reserving them under pressure, indexing full ones.
#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "engine/engine_impl.hpp"

namespace troupe::engine {

void Engine::Impl::truncate_blocks(Sequence& s, uint32_t num_blocks) {
  // Last block first, so that the least recently used block of a chain is its end.
  while (s.num_blocks() > num_blocks) {
    for (uint32_t group = 0; group < groups; ++group) {
      if (s.pages.back() != kv::no_page) pool.release(s.pages.back());
      s.pages.pop_back();
    }
  }
  for (uint32_t& begin : s.windows_begin) begin = std::min(begin, num_blocks);
}

void Engine::Impl::drop_blocks(Sequence& s) {
  truncate_blocks(s, 0);
  s.num_computed = 0;
  s.num_indexed = 0;
  if (!s.started) s.num_cached = 0;
}

std::optional<kv::PageId> Engine::Impl::take_page(const Sequence& s, uint32_t wanted,
                                                  Pressure pressure) {
  for (;;) {
    if (const auto page = pool.allocate()) return page;
    if (index.evict(wanted) > 0) continue;
    if (pressure >= Pressure::strip && strip_youngest_waiting(s)) continue;
    if (pressure >= Pressure::preempt && preempt_youngest(s)) continue;
    is_short_of_pages = true;
    return std::nullopt;
  }
}

bool Engine::Impl::reserve(Sequence& s, uint32_t num_blocks, Pressure pressure) {
  const uint32_t before = s.num_blocks();
  while (s.num_blocks() < num_blocks) {
    const auto page = take_page(s, num_blocks - s.num_blocks(), pressure);
    if (!page) {
      truncate_blocks(s, before);
      return false;
    }
    s.pages.push_back(*page);
    s.pages.resize(s.pages.size() + groups - 1, kv::no_page);
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
  s.preempted = true;
  waiting.emplace(s.id, &s);
  ++counters.preemptions;
}

void Engine::Impl::match_blocks(Sequence& s) {
  const uint32_t first = s.num_indexed;
  const std::span<const kv::BlockName> names = matchable(s);
  const bool any = first < names.size() && index.find(names[first]).has_value();
  const uint32_t end = any ? usable_end(s, names) : first;
  if (end > first) {
    const std::vector<kv::IndexedBlock> found = index.match(names.subspan(first, end - first));
    for (uint32_t i = 0; i < found.size(); ++i) {
      if (first + i < s.num_blocks()) {
        pool.release(s.page(first + i, 0));
        s.page(first + i, 0) = found[i].page;
      } else {
        s.pages.push_back(found[i].page);
        s.pages.resize(s.pages.size() + groups - 1, kv::no_page);
      }
    }
    s.num_indexed = first + static_cast<uint32_t>(found.size());
    take_windows(s, first, s.num_indexed);
    const uint32_t gain = s.num_indexed * block_tokens - s.num_computed;
    counters.cached_tokens += gain;
    if (!s.preempted && s.state == SequenceState::running) s.num_taken += gain;
    s.num_computed = s.num_indexed * block_tokens;
    if (!s.prefill_only) s.num_announced = std::max(s.num_announced, s.num_indexed);
    if (!s.started) s.num_cached = s.num_indexed;
    unclaim(s, std::min(s.num_indexed, s.claims_end));
  }
  leave_windows(s);
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
  const uint32_t copy = s.num_blocks() - 1;
  for (uint32_t group = 0; group < groups; ++group) {
    std::swap(s.page(last, group), s.page(copy, group));
    std::memcpy(pool.page(s.page(last, group)), pool.page(s.page(copy, group)),
                pool.layout().block_bytes());
  }
  truncate_blocks(s, s.num_indexed);
  s.num_indexed = last;
  s.num_computed = s.num_tokens() - 1;
  counters.cached_tokens -= 1;
}

void Engine::Impl::give_up_last_block(Sequence& s) {
  if (groups > 1) {
    // Without its last block it may need a page with a window that it let go.
    counters.cached_tokens -= std::min<uint64_t>(counters.cached_tokens, s.num_computed);
    drop_blocks(s);
    return;
  }
  truncate_blocks(s, --s.num_indexed);
  s.num_computed = s.num_indexed * block_tokens;
  counters.cached_tokens -= block_tokens;
}

void Engine::Impl::take_branch(Sequence& s) {
  if (!backend.capabilities().host_memory || s.num_computed != s.num_indexed * block_tokens) return;
  // The newest token is computed in any case: what follows is drawn from its logits.
  const uint32_t open = s.remaining(block_tokens) - (s.prefill_only ? 0 : 1);
  if (open < limits::branch_tokens_min) return;
  const std::span<const int32_t> tokens =
      std::span<const int32_t>(s.history.tokens).subspan(s.num_computed, open);
  const kv::BlockName& parent = s.num_indexed == 0 ? s.root : s.names[s.num_indexed - 1];
  const auto has_pages = [this](const kv::BlockName& name) {
    for (uint32_t group = 0; group < groups; ++group) {
      if (!index.find(kv::page_name(name, group))) return false;
    }
    return true;
  };
  const auto branch = branches.longest(parent, tokens, has_pages);
  if (!branch || branch->shared < limits::branch_tokens_min) return;
  for (uint32_t group = 0; group < groups; ++group) {
    const kv::PageId source = index.find(kv::page_name(branch->name, group))->page;
    std::memcpy(pool.page(s.page(s.num_indexed, group)), pool.page(source),
                pool.layout().block_bytes());
  }
  s.num_computed += branch->shared;
  counters.cached_tokens += branch->shared;
}

void Engine::Impl::index_blocks(Sequence& s) {
  // A sequence ended in mid-step may have computed a block that its tokens do not name yet.
  const uint32_t full = std::min(s.num_computed / block_tokens, s.num_names());
  for (; s.num_indexed < full; ++s.num_indexed) {
    const uint32_t block = s.num_indexed;
    for (uint32_t group = 0; group < groups; ++group) index_page(s, block, group);
    branches.remember(block == 0 ? s.root : s.names[block - 1], s.names[block],
                      std::span<const int32_t>(s.history.tokens)
                          .subspan(size_t{block} * block_tokens, block_tokens));
  }
  unclaim(s, std::min(s.num_indexed, s.claims_end));
}

void Engine::Impl::index_page(Sequence& s, uint32_t block, uint32_t group) {
  kv::PageId& page = s.page(block, group);
  if (page == kv::no_page) return;
  const kv::BlockName& before = block == 0 ? s.root : s.names[block - 1];
  // A page with a window follows its own block's of group 0, so that it can go before its
  // neighbours and never outlives what makes it useful.
  const kv::IndexedBlock entry =
      index.insert(s.page_name(block, group), group == 0 ? before : s.names[block], page);
  if (entry.page == page) return;
  // Another sequence was first with the same block: one copy is enough.
  pool.retain(entry.page);
  pool.release(page);
  page = entry.page;
}

void Engine::Impl::announce(Sequence& s, Outcome& out) {
  for (; s.num_announced < s.num_indexed; ++s.num_announced) {
    const uint32_t block = s.num_announced;
    for (uint32_t group = 0; group < groups; ++group) {
      const kv::BlockName page = s.page_name(block, group);
      const auto found = index.find(page);
      if (!found) continue;
      const bool passing = block < window_begin(group, s.num_names() * block_tokens);
      out.blocks.push_back({s.id, block * groups + group, page, *found, passing, s.root});
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
