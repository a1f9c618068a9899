#include "actors/measure_device.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/clock.hpp"

namespace troupe::actors {
namespace {

/// A worker that was killed is missed for as long as this takes, and the first token of a start
/// waits for it: what two spans of a prompt may take, whose length fits within these bounds.
constexpr double probe_us = 200'000;
constexpr uint32_t probe_tokens_min = 8, probe_tokens_max = 32;
/// Fewer would share less of what they read than the tokens of a chunk do.
constexpr uint32_t deep_tokens_max = 8;
constexpr uint32_t deep_position_max = 2048;
/// What the tokens of a deep span may take if positions before them cost nothing.
constexpr double deep_us = 10'000;
/// A token of a prompt takes about this much of a step of one token.
constexpr double prompt_share = 0.5;
constexpr uint32_t pages_max = 2;  ///< of each layer group: from one to another is copied

/// Microseconds of one span, the best of `runs`.
Result<double> time_span(engine::Backend& backend, const std::vector<kv::PageId>& pages,
                         uint32_t first, uint32_t count, uint64_t runs) {
  double best = 0;
  for (uint64_t i = 0; i < runs; ++i) {
    engine::Span span;
    span.first_position = first;
    span.tokens.resize(count);
    span.block_table = pages;
    engine::StepPlan plan;
    plan.step = i + 1;
    plan.spans.push_back(std::move(span));
    const TimeUs start = now_us();
    TROUPE_ASSIGN(const engine::Ticket ticket, backend.submit(std::move(plan)));
    TROUPE_ASSIGN(const engine::StepResult result, backend.wait(ticket));
    if (result.spans.at(0).error) return *result.spans[0].error;
    const auto us = static_cast<double>(std::max<TimeUs>(now_us() - start, 1));
    best = i == 0 ? us : std::min(best, us);
  }
  return best;
}

/// Nanoseconds that each position before a token costs it: a short span far from the start against
/// the same one at the start. Every block before it is the same page: what it holds has no part in
/// how long it takes to read.
Result<double> time_attention(engine::Backend& backend, const kv::KvLayout& layout,
                              const std::vector<kv::PageId>& pages, double us_per_token) {
  const engine::Capabilities& can = backend.capabilities();
  const uint32_t context = std::min(can.context_max, deep_position_max);
  const uint32_t count =
      std::clamp(static_cast<uint32_t>(deep_us / us_per_token), 1u, deep_tokens_max);
  if (can.checks_pages || context <= 2 * count) return 0.0;
  const uint32_t first = context - count;
  const uint32_t blocks = (context + layout.tokens_per_block - 1) / layout.tokens_per_block;
  std::vector<kv::PageId> table;
  for (uint32_t group = 0; group < layout.num_groups(); ++group) {
    table.insert(table.end(), blocks, pages[group]);
  }
  TROUPE_ASSIGN(const double near, time_span(backend, pages, 0, count, 1));
  TROUPE_ASSIGN(const double far, time_span(backend, table, first, count, 1));
  return std::max(0.0, (far - near) * 1e3 / (static_cast<double>(first) * count));
}

double copy_bytes_per_us(const kv::Pool& pool, kv::PageId from, kv::PageId to) {
  const size_t bytes = pool.layout().block_bytes();
  const TimeUs start = now_us();
  for (int i = 0; i < 4; ++i) std::memcpy(pool.page(to), pool.page(from), bytes);
  return static_cast<double>(4 * bytes) /
         static_cast<double>(std::max<TimeUs>(now_us() - start, 1));
}

Result<v1::DeviceProfile> measure(engine::Backend& backend, kv::Pool& pool,
                                  const std::vector<kv::PageId>& pages) {
  const uint32_t per_block = pool.layout().tokens_per_block;
  const auto blocks = static_cast<uint32_t>(pages.size()) / pool.layout().num_groups();
  const auto covered = std::min(blocks * per_block, backend.capabilities().context_max);
  v1::DeviceProfile profile;
  // First, so that what is touched for the first time costs no long span.
  TROUPE_ASSIGN(const double step, time_span(backend, pages, 0, 1, 3));
  profile.set_decode_us_per_step(step);
  const double fits = probe_us / (2 * prompt_share * step);
  const auto wanted =
      static_cast<uint32_t>(std::clamp<double>(fits, probe_tokens_min, probe_tokens_max));
  const uint32_t count = std::min(wanted, covered);
  TROUPE_ASSIGN(const double shallow, time_span(backend, pages, 0, count, 2));
  profile.set_prefill_us_per_token(shallow / count);
  profile.set_transfer_bytes_per_us(copy_bytes_per_us(pool, pages.front(), pages.back()));
  TROUPE_ASSIGN(const double attention,
                time_attention(backend, pool.layout(), pages, shallow / count));
  profile.set_attention_ns_per_token_per_context(attention);
  return profile;
}

}  // namespace

Result<v1::DeviceProfile> measure_device(engine::Backend& backend, kv::Pool& pool) {
  std::vector<kv::PageId> pages;
  const uint32_t context_blocks =
      std::max(1u, backend.capabilities().context_max / pool.layout().tokens_per_block);
  const uint32_t groups = pool.layout().num_groups();
  const uint32_t blocks = std::min({pages_max, context_blocks, pool.num_free() / groups});
  if (blocks == 0) {
    return error(Code::exhausted, "the KV pool holds no block", "give the worker more kv_memory");
  }
  while (pages.size() < size_t{blocks} * groups) pages.push_back(pool.allocate().value());
  auto profile = measure(backend, pool, pages);
  for (kv::PageId page : pages) pool.release(page);
  return profile;
}

}  // namespace troupe::actors
