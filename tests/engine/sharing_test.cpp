// Prefixes that are computed once: by sequences that come together, and for workers elsewhere.
#include "tests/support/sim_world.hpp"

namespace troupe::testing {
namespace {

using engine::EngineLimits;
using engine::FinishReason;
using engine::SequenceId;
using engine::SequenceSpec;

TEST_CASE("n choices of one prompt compute it once") {
  for (const uint32_t chunk : {16u, 64u, 256u}) {
    CAPTURE(chunk);
    SimWorld world({}, EngineLimits{.chunk_tokens = chunk});
    std::vector<std::pair<SequenceId, SimOutput>> expected;
    for (uint32_t choice = 0; choice < 8; ++choice) {
      SequenceSpec spec = sim_spec(sim_tokens(640 + 30, 1), 20, 9);
      spec.sampling.choice = choice;
      expected.emplace_back(world.add(spec), sim_plain(spec));
    }
    world.run();
    // The prompt once, and for each the 30 tokens that fill no block.
    CHECK(world.engine->stats().prefill_tokens <= 640 + 8 * 30);
    for (const auto& [id, output] : expected) CHECK(world.outputs[id].same_text(output));
    CHECK(world.outputs[expected[0].first].tokens != world.outputs[expected[1].first].tokens);
    world.check_all_free();
  }
}

TEST_CASE("who shares less waits less, and one who shares nothing goes ahead") {
  SimWorld world({}, EngineLimits{.chunk_tokens = 64, .step_tokens_max = 256});
  const std::vector<int32_t> prompt = sim_tokens(64 * 20, 1);
  world.add(sim_spec(prompt, 1));
  std::vector<int32_t> branch(prompt.begin(), prompt.begin() + 128);
  branch.push_back(5);
  const SequenceId sharer = world.add(sim_spec(branch, 1));
  const SequenceId stranger = world.add(sim_spec(sim_tokens(60, 8), 1));
  world.step();
  CHECK(world.outputs[stranger].finish == FinishReason::length);
  world.step();
  world.step();
  CHECK(world.outputs[sharer].finish == FinishReason::length);
  world.run();
  CHECK(world.engine->stats().prefill_tokens <= 64 * 20 + 60 + 1);
  world.check_all_free();
}

TEST_CASE("a sharer goes on by itself when the one it waits for is cancelled") {
  SimWorld world({}, EngineLimits{.chunk_tokens = 64});
  const SequenceSpec spec = sim_spec(sim_tokens(640, 1), 10);
  const SequenceId first = world.add(spec);
  const SequenceId second = world.add(spec);
  world.step();
  world.step();
  world.cancel(first);
  world.run();
  CHECK(world.outputs[second].same_text(sim_plain(spec)));
  CHECK(world.engine->stats().prefill_tokens <= 640);
  world.check_all_free();
}

TEST_CASE("prefill only: every full block is told once, in order") {
  for (const uint32_t size : {1u, 64u, 65u, 128u, 129u, 500u}) {
    CAPTURE(size);
    SimWorld world({}, EngineLimits{.chunk_tokens = 100});
    SequenceSpec spec = sim_spec(sim_tokens(size, 2), 10);
    const std::vector<int32_t> prompt = spec.tokens;
    spec.prefill_only = true;
    for (const bool cached : {false, true}) {
      CAPTURE(cached);
      const uint64_t computed = world.engine->stats().prefill_tokens;
      const SequenceId id = world.add(spec);
      CHECK(world.engine->has_work());
      world.run();
      const SimOutput& output = world.outputs[id];
      CHECK(output.finish == FinishReason::prefilled);
      CHECK(output.tokens.empty());
      const auto names = kv::block_names(spec.root, prompt, 64);
      REQUIRE(output.blocks.size() == size / 64);
      for (uint32_t i = 0; i < output.blocks.size(); ++i) {
        CHECK(output.blocks[i].block_index == i);
        CHECK(output.blocks[i].name == names[i]);
      }
      CHECK(world.engine->stats().prefill_tokens - computed == (cached ? 0 : size / 64 * 64));
    }
    world.check_all_free();
  }
}

TEST_CASE("blocks become ready chunk by chunk, cached ones at once") {
  SimWorld world({}, EngineLimits{.chunk_tokens = 128, .step_tokens_max = 128});
  const std::vector<int32_t> prompt = sim_tokens(640 + 1, 2);
  world.add(sim_spec({prompt.begin(), prompt.begin() + 129}, 1));
  world.run();
  SequenceSpec spec = sim_spec(prompt, 1);
  spec.prefill_only = true;
  const SequenceId id = world.add(spec);
  for (size_t ready = 4; ready <= 10; ready += 2) {
    world.step();
    CHECK(world.outputs[id].blocks.size() == ready);
  }
  CHECK(world.outputs[id].finish == FinishReason::prefilled);
  world.check_all_free();
}

TEST_CASE("a block is told to others that compute it as well") {
  SimWorld world;
  const SequenceId id = world.add(sim_spec(sim_tokens(100, 2), 100));
  world.run();
  const SimOutput& output = world.outputs[id];
  REQUIRE(output.blocks.size() == 3);
  CHECK(output.blocks[2].block_index == 2);
  CHECK(world.events.last_number() == 3);
  // Who found one of them in the index tells only the others, which have other tokens.
  const SequenceId second = world.add(sim_spec(sim_tokens(100, 2), 100, 77));
  world.run();
  REQUIRE(world.outputs[second].blocks.size() == 2);
  CHECK(world.outputs[second].blocks[0].block_index == 1);
}

TEST_CASE("different roots share nothing") {
  SimWorld world;
  SequenceSpec spec = sim_spec(sim_tokens(200, 2), 5);
  world.add(spec);
  world.run();
  spec.root.bytes[0] = 1;
  const SequenceId other = world.add(spec);
  CHECK(world.engine->num_cached_blocks(other) == 0);
  world.run();
  world.check_all_free();
}

}  // namespace
}  // namespace troupe::testing
