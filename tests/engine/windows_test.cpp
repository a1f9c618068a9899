// Layer groups with a window: their pages go when the window has passed, and nothing else changes.
#include <algorithm>
#include <cstring>

#include "kv/layer_groups.hpp"
#include "tests/support/sim_world.hpp"

namespace troupe::testing {
namespace {

using engine::SequenceId;
using engine::SequenceSpec;
using engine::SimOptions;

const SimOptions windowed{.windows = {128, 100}};

uint32_t pages_in_use(const SimWorld& world) {
  return world.pool.num_pages() - world.pool.num_free() - world.index.num_evictable();
}

TEST_CASE("a sequence holds its windows, not all of its past") {
  SimWorld world(windowed, {}, 400);
  const SequenceSpec spec = sim_spec(sim_tokens(16000, 3), 300, 2);
  const SequenceId id = world.add(spec);
  uint32_t most = 0;
  while (world.step()) most = std::max(most, pages_in_use(world));
  CHECK(world.outputs[id].same_text(sim_plain(spec)));
  // Three groups of 255 blocks would be 765.
  CHECK(most <= kv::pages_held(world.pool.layout(), 16300, 256));
  CHECK(most < 255 + 16);
  world.check_all_free();
}

TEST_CASE("what needs more than the pool has is refused, what fits runs") {
  const SequenceSpec spec = sim_spec(sim_tokens(64 * 20, 3), 1, 2);
  const auto needed =
      static_cast<uint32_t>(kv::pages_held(engine::sim_layout(64, windowed.windows), 64 * 20, 256));
  SimWorld small(windowed, {}, needed - 1);
  const auto refused = small.engine->add(spec);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::exhausted);
  CHECK(small.engine->sequence_blocks_max() < 20);
  SimWorld enough(windowed, {}, needed);
  CHECK(enough.engine->sequence_blocks_max() == 20);
  const SequenceId id = enough.add(spec);
  enough.run();
  CHECK(enough.outputs[id].same_text(sim_plain(spec)));
}

TEST_CASE("a prefix is of use as far as the windows at its end are here") {
  SimWorld world(windowed, {}, 200);
  const auto prompt = sim_tokens(64 * 20 + 5, 7);
  const SequenceId cold = world.add(sim_spec(prompt, 20, 2));
  world.run();
  // All pages are in the index still, those that left their windows too.
  for (const uint32_t shared : {20u, 11u, 3u, 1u}) {
    auto other = sim_tokens(64 * 21, 100 + shared);
    std::copy_n(prompt.begin(), 64 * shared, other.begin());
    const SequenceSpec spec = sim_spec(other, 10, 5);
    const SequenceId id = world.add(spec);
    CHECK(world.engine->num_cached_blocks(id) == shared);
    world.run();
    CHECK(world.outputs[id].same_text(sim_plain(spec)));
  }
  CHECK(world.outputs[cold].finish.has_value());
  // The oldest go first: the windows of the beginning, behind which nobody can go on then.
  SimWorld crowded(windowed, {}, 44);
  (void)crowded.add(sim_spec(prompt, 20, 2));
  crowded.run();
  auto early = sim_tokens(64 * 21, 9), late = early;
  std::copy_n(prompt.begin(), 64 * 3, early.begin());
  std::copy_n(prompt.begin(), 64 * 20, late.begin());
  const SequenceId late_id = crowded.add(sim_spec(late, 10, 5));
  CHECK(crowded.engine->num_cached_blocks(late_id) == 20);
  const SequenceId early_id = crowded.add(sim_spec(early, 10, 5));
  CHECK(crowded.engine->num_cached_blocks(early_id) == 0);
  crowded.run();
  CHECK(crowded.outputs[late_id].same_text(sim_plain(sim_spec(late, 10, 5))));
  CHECK(crowded.outputs[early_id].same_text(sim_plain(sim_spec(early, 10, 5))));
  crowded.check_all_free();
}

TEST_CASE("a prompt of whole blocks that is here computes its last token") {
  SimWorld world(windowed, {}, 100);
  const SequenceSpec spec = sim_spec(sim_tokens(64 * 8, 7), 90, 2);
  (void)world.add(spec);
  world.run();
  const uint64_t before = world.engine->stats().prefill_tokens;
  const SequenceId again = world.add(spec);
  world.run();
  CHECK(world.outputs[again].same_text(sim_plain(spec)));
  CHECK(world.engine->stats().prefill_tokens - before <= 1);
  world.check_all_free();
}

TEST_CASE("only the windows at the end come from elsewhere") {
  for (const uint32_t lost : {UINT32_MAX, 0u, 7u, 21u, 29u}) {
    CAPTURE(lost);
    const SequenceSpec spec = sim_spec(sim_tokens(64 * 10 + 9, 4), 30, 2);
    SequenceSpec prefill = spec;
    prefill.prefill_only = true;
    SimWorld source(windowed), target(windowed);
    const SequenceId from = source.add(prefill);
    source.run();
    const SequenceId id = target.add(spec);
    const auto pages = target.engine->expect_external(id, 10);
    REQUIRE(pages.size() == 30);
    // 10 of group 0, and of the others those that hold the last 128 and 100 positions.
    CHECK(std::count(pages.begin(), pages.end(), kv::no_page) == 30 - 10 - 2 - 2);
    uint32_t delivered = 0;
    for (const engine::BlockReady& ready : source.outputs[from].blocks) {
      CHECK(ready.passing == (pages[ready.block_index] == kv::no_page));
      if (ready.passing || ready.block_index == lost) continue;
      std::memcpy(target.pool.page(pages[ready.block_index]), source.pool.page(ready.block.page),
                  target.pool.layout().block_bytes());
      target.engine->deliver_external(id, ready.block_index);
      ++delivered;
    }
    if (lost != UINT32_MAX) target.engine->abandon_external(id);
    target.run();
    CHECK(target.outputs[id].same_text(sim_plain(spec)));
    if (lost == UINT32_MAX) CHECK(target.engine->stats().prefill_tokens == 9);
    CHECK(delivered + (lost == UINT32_MAX || lost == 7 ? 0 : 1) == 14);
    target.check_all_free();
  }
}

}  // namespace
}  // namespace troupe::testing
