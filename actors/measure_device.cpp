#include "actors/measure_device.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/clock.hpp"

namespace troupe::actors {
namespace {

/// A worker that was killed is missed for as long as this takes, and the first token of a start
/// waits for it: what two spans of a prompt may take, whose length fits within these bounds, and
/// how long others are begun after them.
constexpr double probe_us = 200'000;
constexpr uint32_t probe_tokens_min = 8, probe_tokens_max = 32;
constexpr TimeUs deep_us = 50'000;
/// A token of a prompt takes about this much of a step of one token.
constexpr double prompt_share = 0.5;
constexpr uint32_t deep_blocks_max = 4;

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
  // The deep span reads what is before it, so that is written first, as far as there is time.
  const TimeUs deadline = now_us() + deep_us;
  for (uint32_t at = count; at + count <= covered && now_us() < deadline; at += count) {
    TROUPE_ASSIGN(const double deep, time_span(backend, pages, at, count, 1));
    const double context = static_cast<double>(at) * count;
    profile.set_attention_ns_per_token_per_context(std::max(0.0, (deep - shallow) * 1e3 / context));
  }
  return profile;
}

}  // namespace

Result<v1::DeviceProfile> measure_device(engine::Backend& backend, kv::Pool& pool) {
  std::vector<kv::PageId> pages;
  const uint32_t context_blocks =
      std::max(1u, backend.capabilities().context_max / pool.layout().tokens_per_block);
  const uint32_t groups = pool.layout().num_groups();
  const uint32_t blocks = std::min({deep_blocks_max, context_blocks, pool.num_free() / groups});
  if (blocks == 0) {
    return error(Code::exhausted, "the KV pool holds no block", "give the worker more kv_memory");
  }
  while (pages.size() < size_t{blocks} * groups) pages.push_back(pool.allocate().value());
  auto profile = measure(backend, pool, pages);
  for (kv::PageId page : pages) pool.release(page);
  return profile;
}

}  // namespace troupe::actors
