// One sequence on a backend without an engine: pages, spans, results. For tests of the CPU backend.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/backend.hpp"
#include "kv/region.hpp"

namespace troupe::testing {

/// Gives the backend a pool that holds `tokens` positions; poisoned with NaN, so that a read of a
/// slot that was not written shows.
inline void attach_poisoned_pool(engine::Backend& backend, uint32_t tokens) {
  const kv::KvLayout& layout = backend.kv_layout();
  const uint32_t blocks = (tokens + layout.tokens_per_block - 1) / layout.tokens_per_block;
  const uint32_t pages = blocks * layout.num_groups();
  auto region = kv::allocate_region(pages * layout.block_bytes());
  REQUIRE(region.ok());
  std::fill_n(region->data, region->bytes, std::byte{0xff});
  REQUIRE(backend.attach_pool(*region).ok());
}

/// Pages [first, first + count).
inline std::vector<kv::PageId> pages_from(uint32_t first, uint32_t count) {
  std::vector<kv::PageId> pages(count);
  std::iota(pages.begin(), pages.end(), first);
  return pages;
}

inline engine::Span make_span(const std::vector<int32_t>& tokens, size_t begin, size_t end,
                              const std::vector<kv::PageId>& pages) {
  engine::Span span;
  span.first_position = static_cast<uint32_t>(begin);
  for (size_t i = begin; i < end; ++i) span.tokens.push_back({tokens[i], -1});
  span.block_table = pages;
  return span;
}

/// A span's table of blocks as pages of each layer group: block b's of group g is b * groups + g.
inline std::vector<kv::PageId> with_groups(const kv::KvLayout& layout,
                                           const std::vector<kv::PageId>& blocks) {
  std::vector<kv::PageId> pages;
  for (uint32_t group = 0; group < layout.num_groups(); ++group) {
    for (const kv::PageId block : blocks) pages.push_back(block * layout.num_groups() + group);
  }
  return pages;
}

inline std::vector<engine::SpanResult> run_step(engine::Backend& backend,
                                                std::vector<engine::Span> spans) {
  engine::StepPlan plan;
  plan.step = 1;
  plan.spans = std::move(spans);
  for (engine::Span& span : plan.spans) {
    span.block_table = with_groups(backend.kv_layout(), span.block_table);
  }
  auto ticket = backend.submit(std::move(plan));
  if (!ticket.ok()) FAIL(ticket.error().message());
  CHECK(backend.poll(*ticket));
  auto result = backend.wait(*ticket);
  if (!result.ok()) FAIL(result.error().message());
  for (const engine::SpanResult& span : result->spans) {
    if (span.error) FAIL(span.error->message());
  }
  return std::move(result->spans);
}

}  // namespace troupe::testing
