// Pages of layer groups with a window: there when a span needs them, gone when the window has
// passed. Group 0 has no window, so its pages are a sequence's blocks; all that is here is about
// the others, and nothing of it does anything for a model with one group.
//
// Why nobody waits for ever: what a sequence can need at once is at most pages_at_most(), and who
// needs more than the pool has is refused. The oldest that runs may take pages from everybody else,
// and those that it let go lie in the index, which gives them up.
#include <algorithm>
#include <utility>

#include "engine/engine_impl.hpp"
#include "kv/layer_groups.hpp"

namespace troupe::engine {

uint32_t Engine::Impl::chunk_max() const {
  return std::min(limits.chunk_tokens, step_tokens_max);
}

uint32_t Engine::Impl::pages_at_most(uint32_t tokens) const {
  const uint32_t span = std::max(chunk_max(), limits.draft_tokens_max + 1);
  return static_cast<uint32_t>(kv::pages_held(pool.layout(), tokens, span));
}

uint32_t Engine::Impl::pages_held(const Sequence& s) const {
  const auto holes = std::count(s.pages.begin(), s.pages.end(), kv::no_page);
  return static_cast<uint32_t>(s.pages.size()) - static_cast<uint32_t>(holes);
}

bool Engine::Impl::reserve_windows(Sequence& s, uint32_t begin, uint32_t end, uint32_t position,
                                   Pressure pressure) {
  std::vector<kv::PageId*> taken;
  for (uint32_t group = 1; group < groups; ++group) {
    const uint32_t first = std::max(begin, pool.layout().first_block(group, position));
    for (uint32_t block = first; block < end; ++block) {
      kv::PageId& place = s.page(block, group);
      if (place != kv::no_page) continue;
      const auto page = take_page(s, end - block, pressure);
      if (!page) {
        for (kv::PageId* other : taken) pool.release(std::exchange(*other, kv::no_page));
        return false;
      }
      place = *page;
      taken.push_back(&place);
    }
  }
  return true;
}

bool Engine::Impl::reserve_windows(Sequence& s, uint32_t tokens, Pressure pressure) {
  return reserve_windows(s, s.num_computed / block_tokens, pages_for(tokens), s.num_computed,
                         pressure);
}

uint32_t Engine::Impl::tokens_with_pages(const Sequence& s) const {
  if (groups == 1) return s.num_blocks() * block_tokens;
  uint32_t block = s.num_computed / block_tokens;
  for (; block < s.num_blocks(); ++block) {
    const auto pages = s.pages.begin() + size_t{block} * groups;
    if (std::find(pages, pages + groups, kv::no_page) != pages + groups) break;
  }
  return block * block_tokens;
}

uint32_t Engine::Impl::usable_end(Sequence& s, std::span<const kv::BlockName> names) const {
  if (groups == 1) return static_cast<uint32_t>(names.size());
  uint32_t end = s.num_indexed;
  while (end < names.size() && index.find(names[end])) ++end;
  while (end > s.num_indexed && !has_windows(s, end)) --end;
  return end;
}

bool Engine::Impl::has_windows(Sequence& s, uint32_t end) const {
  for (uint32_t group = 1; group < groups; ++group) {
    for (uint32_t block = end; block-- > window_begin(group, end * block_tokens);) {
      if (block < s.num_indexed && s.page(block, group) != kv::no_page) continue;
      if (!index.find(s.page_name(block, group))) return false;
    }
  }
  return true;
}

void Engine::Impl::take_windows(Sequence& s, uint32_t first, uint32_t end) {
  for (uint32_t group = 1; group < groups; ++group) {
    const uint32_t begin = window_begin(group, end * block_tokens);
    s.windows_begin[group] = std::min(s.windows_begin[group], begin);
    for (uint32_t block = std::min(first, begin); block < end; ++block) {
      kv::PageId& page = s.page(block, group);
      const bool is_own = block >= first && page != kv::no_page;
      if (is_own) pool.release(std::exchange(page, kv::no_page));
      if (block < begin || page != kv::no_page) continue;
      const kv::BlockName name = s.page_name(block, group);
      page = index.match({&name, 1}).at(0).page;
    }
  }
}

void Engine::Impl::leave_windows(Sequence& s) {
  for (uint32_t group = 1; group < groups; ++group) {
    const uint32_t end = std::min(window_begin(group, s.num_computed), s.num_blocks());
    for (uint32_t& block = s.windows_begin[group]; block < end; ++block) {
      kv::PageId& page = s.page(block, group);
      if (page != kv::no_page) pool.release(std::exchange(page, kv::no_page));
    }
  }
}

}  // namespace troupe::engine
