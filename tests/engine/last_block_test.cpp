// Prompts that end with a block: all of it can be reused but the newest token, which is computed
// again for its logits, in a copy.
#include <cstring>

#include "tests/support/sim_world.hpp"

namespace troupe::testing {
namespace {

using engine::EngineLimits;
using engine::SequenceId;
using engine::SequenceSpec;

/// Tokens that the world computed, of prompts and otherwise.
uint64_t computed(const SimWorld& world) {
  return world.engine->stats().prefill_tokens + world.engine->stats().decode_tokens;
}

TEST_CASE("the second one computes a single token, and nobody's block is written") {
  SimWorld world;
  const SequenceSpec spec = sim_spec(sim_tokens(64 * 5, 3), 1, 5);
  const SequenceId cold = world.add(spec);
  world.run();
  const auto name = world.engine->block_names(world.add(spec)).back();
  const auto block = world.index.find(name);
  REQUIRE(block.has_value());
  const uint64_t before = computed(world);
  world.run();
  CHECK(computed(world) - before == 1);
  CHECK(world.index.find(name)->page == block->page);
  CHECK(world.outputs[cold].same_text(sim_plain(spec)));
  CHECK(world.outputs[cold + 1].same_text(sim_plain(spec)));
  CHECK(world.engine->stats().cached_tokens == 64 * 5 - 1);
  world.check_all_free();
}

TEST_CASE("in a pool without room for the copy the block is computed") {
  for (const uint32_t pages : {2u, 3u, 4u, 8u}) {
    for (const uint32_t tokens : {1u, 2u, 60u}) {
      if (pages == 2 && tokens > 1) continue;
      CAPTURE(pages);
      CAPTURE(tokens);
      SimWorld world({}, {}, pages);
      const SequenceSpec spec = sim_spec(sim_tokens(128, 3), tokens, 5);
      world.add(spec);
      world.run();
      const SequenceId warm = world.add(spec);
      world.run();
      CHECK(world.outputs[warm].same_text(sim_plain(spec)));
      CHECK(world.engine->stats().prefill_tokens == (pages == 2 ? 128 + 64 : 128));
      world.check_all_free();
    }
  }
}

TEST_CASE("many at once, in pools that hold few of them") {
  for (const uint32_t pages : {3u, 5u, 9u, 40u}) {
    CAPTURE(pages);
    SimWorld world({}, EngineLimits{.chunk_tokens = 64, .step_tokens_max = 128}, pages);
    std::vector<std::pair<SequenceId, SimOutput>> expected;
    for (uint32_t i = 0; i < 12; ++i) {
      SequenceSpec spec = sim_spec(sim_tokens(128, 3 + i % 3), 50, 5);
      spec.sampling.choice = i;
      expected.emplace_back(world.add(spec), sim_plain(spec));
    }
    world.run();
    for (const auto& [id, output] : expected) CHECK(world.outputs[id].same_text(output));
    world.check_all_free();
  }
}

TEST_CASE("a last block that comes from elsewhere is shared at once, and one token is computed") {
  SimWorld source, target;
  const SequenceSpec spec = sim_spec(sim_tokens(64 * 3, 4), 30, 2);
  SequenceSpec prefill = spec;
  prefill.prefill_only = true;
  const SequenceId made = source.add(prefill);
  source.run();
  const std::vector<engine::BlockReady>& ready = source.outputs[made].blocks;
  REQUIRE(ready.size() == 3);
  const SequenceId id = target.add(spec);
  const auto pages = target.engine->expect_external(id, 3);
  REQUIRE(pages.size() == 3);
  for (const uint32_t block : {2u, 0u, 1u}) {
    std::memcpy(target.pool.page(pages[block]), source.pool.page(ready[block].block.page),
                target.pool.layout().block_bytes());
    target.engine->deliver_external(id, block);
  }
  const SequenceId sharer = target.add(spec);
  CHECK(target.engine->num_cached_blocks(sharer) == 3);
  target.run();
  CHECK(target.outputs[id].same_text(sim_plain(spec)));
  CHECK(target.outputs[sharer].same_text(sim_plain(spec)));
  CHECK(target.engine->stats().prefill_tokens == 0);
  target.check_all_free();
  source.check_all_free();
}

}  // namespace
}  // namespace troupe::testing
