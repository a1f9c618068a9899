// Many small random set-ups, each against the plain run.
#include "tests/support/sim_mix.hpp"

namespace troupe::testing {
namespace {

using engine::EngineLimits;
using engine::SequenceId;
using engine::SequenceSpec;
using engine::SimOptions;

void run_one(uint32_t seed) {
  CAPTURE(seed);
  SimMix setup(seed, {});
  const SimOptions options{.vocab_size = setup.any({8u, 40u, 300u}),
                           .memory_tokens = setup.any({0u, 1u, 2u}),
                           .us_per_step = setup.any({0, 10})};
  const EngineLimits limits{.running_max = setup.any({1u, 3u, 256u}),
                            .chunk_tokens = setup.any({1u, 7u, 16u, 64u, 100u, 256u}),
                            .step_tokens_max = setup.any({1u, 2u, 13u, 64u, 300u}),
                            .draft_tokens_max = setup.any({0u, 1u, 8u})};
  SimMix mix(seed, options);
  const uint32_t pages = mix.any({6u, 9u, 14u, 100u});
  SimWorld world(options, limits, pages);
  std::vector<std::pair<SequenceId, SequenceSpec>> sequences;
  const uint32_t count = 1 + mix.below(8);
  for (uint32_t i = 0; i < count; ++i) {
    SequenceSpec spec = mix.spec(250, 100);
    if (mix.chance(25)) spec = mix.resumed(spec);
    sequences.emplace_back(world.add(spec), spec);
    for (uint32_t steps = mix.below(6); steps > 0; --steps) world.step();
  }
  world.run();
  for (const auto& [id, spec] : sequences) {
    check_continues(spec, world.outputs[id], options, true);
  }
  world.check_all_free();
}

TEST_CASE("300 random set-ups give what the plain run gives") {
  for (uint32_t seed = 1; seed <= 300; ++seed) run_one(seed);
}

}  // namespace
}  // namespace troupe::testing
