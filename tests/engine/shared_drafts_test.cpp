// Drafts that somebody else proposes: right, wrong, late, absurd or for others, they change how
// many steps it takes and nothing else.
#include <array>
#include <map>

#include "engine/suffix_index.hpp"
#include "tests/support/sim_mix.hpp"

namespace troupe::testing {
namespace {

using engine::DraftAnswer;
using engine::DraftAsk;
using engine::DraftLesson;
using engine::EngineLimits;
using engine::SequenceId;
using engine::SequenceSpec;
using engine::SimOptions;

/// Answers from an index that learns everything that the engine teaches.
struct Actor {
  engine::SuffixIndex index{size_t{64} << 20};
  uint32_t asked = 0;

  void learn(engine::Engine& engine) {
    for (const DraftLesson& lesson : engine.take_draft_lessons()) {
      index.learn(lesson.group, lesson.tokens);
    }
  }
  DraftAnswer answer(const DraftAsk& ask) {
    ++asked;
    auto match = index.find(ask.group, ask.context, ask.count);
    return {ask.sequence, ask.position, match.length, std::move(match.next)};
  }
};

/// One round of the loop, answering while the step runs.
bool step_with(SimWorld& world, Actor& actor) {
  if (!world.engine->has_work()) return false;
  engine::StepPlan plan = world.engine->plan();
  world.check_plan(plan);
  actor.learn(*world.engine);
  for (const DraftAsk& ask : world.engine->draft_asks()) {
    world.engine->take_draft_answer(actor.answer(ask));
  }
  if (plan.spans.empty()) {
    world.take(world.engine->accept({plan.step, {}, 0}));
  } else {
    world.take(world.engine->accept(world.compute(std::move(plan))));
  }
  actor.learn(*world.engine);
  return true;
}

TEST_CASE("what one sequence said speeds up the next, on any worker") {
  Actor actor;
  const SequenceSpec spec = sim_spec(sim_tokens(100, 1), 300, 5);
  const SimOutput plain = sim_plain(spec);
  std::vector<uint64_t> steps;
  for (int run = 0; run < 2; ++run) {
    SimWorld world;  // another worker each time: nothing is shared but the actor
    world.engine->set_draft_actor(true);
    const SequenceId id = world.add(spec);
    while (step_with(world, actor)) {
    }
    CHECK(world.outputs[id].same_text(plain));
    steps.push_back(world.engine->stats().steps);
    world.check_all_free();
    if (run == 0) continue;
    CHECK(world.engine->stats().shared_accepted > 200);
    uint32_t seen = 0, right = 0;
    for (const auto& tally : world.engine->take_draft_tallies()) {
      for (const uint32_t count : tally.seen) seen += count;
      for (const uint32_t count : tally.right) right += count;
    }
    CHECK(seen >= 250);
    CHECK(right + 5 > seen);
  }
  CHECK(steps[0] > 280);
  CHECK(steps[1] < 60);
}

TEST_CASE("a tenant's output is never proposed to another") {
  Actor actor;
  SequenceSpec spec = sim_spec(sim_tokens(100, 1), 200, 5);
  spec.root.bytes[0] = 1;
  for (const uint8_t tenant : std::array<uint8_t, 3>{1, 1, 2}) {
    SimWorld world;
    world.engine->set_draft_actor(true);
    spec.root.bytes[0] = tenant;
    world.add(spec);
    while (step_with(world, actor)) {
    }
    // The same prompt and output: all that keeps them apart is the tenant.
    if (tenant == 2) CHECK(world.engine->stats().shared_drafted == 0);
  }
}

TEST_CASE("who has nobody to ask asks nothing and teaches nothing") {
  SimWorld world;
  world.add(sim_spec(sim_tokens(100, 1), 50));
  while (world.engine->has_work()) {
    engine::StepPlan plan = world.engine->plan();
    CHECK(world.engine->draft_asks().empty());
    world.take(world.engine->accept(world.compute(std::move(plan))));
  }
  CHECK(world.engine->take_draft_lessons().empty());
  CHECK(world.engine->take_draft_tallies().empty());
}

TEST_CASE("a sequence without drafts neither asks nor teaches") {
  SimWorld world;
  world.engine->set_draft_actor(true);
  Actor actor;
  SequenceSpec spec = sim_spec(sim_tokens(100, 1), 50);
  spec.drafts = false;
  world.add(spec);
  while (step_with(world, actor)) {
  }
  CHECK(actor.asked == 0);
  CHECK(actor.index.num_documents() == 0);
}

TEST_CASE("lessons that nobody fetches stay within their limit") {
  SimWorld world({}, {}, 2000);
  world.engine->set_draft_actor(true);
  for (uint32_t i = 0; i < 40; ++i) {
    const SequenceId id = world.add(sim_spec(sim_tokens(60'000, i), 1));
    world.cancel(id);
  }
  size_t tokens = 0;
  for (const DraftLesson& lesson : world.engine->take_draft_lessons()) {
    tokens += lesson.tokens.size();
  }
  CHECK(tokens > 500'000);
  CHECK(tokens <= size_t{1} << 20);
  world.add(sim_spec(sim_tokens(100, 99), 1));
  CHECK(world.engine->take_draft_lessons().size() == 1);
}

/// Proposals that lie in every way there is.
DraftAnswer lie(SimMix& mix, const DraftAsk& ask, const std::vector<int32_t>& truth) {
  DraftAnswer answer{ask.sequence, ask.position, mix.any({0u, 1u, 3u, 32u, 4000000000u}), {}};
  const uint32_t count = mix.any({0u, 1u, 5u, 48u, 3000u});
  for (uint32_t i = 0; i < count; ++i) {
    const size_t at = ask.position + i;
    const bool honest = mix.chance(80) && at < truth.size();
    answer.tokens.push_back(honest ? truth[at] : static_cast<int32_t>(mix.below(300)));
  }
  if (mix.chance(10) && count > 0) answer.tokens[mix.below(count)] = mix.any({-1, 1 << 30});
  if (mix.chance(10)) answer.position += mix.any({1u, 1000u, 4294967295u});
  if (mix.chance(10)) answer.sequence += mix.any({1u, 1000u});
  return answer;
}

void run_lies(uint32_t seed) {
  CAPTURE(seed);
  SimMix setup(seed, {});
  const SimOptions options{.vocab_size = setup.any({8u, 40u, 300u}),
                           .memory_tokens = setup.any({0u, 1u, 2u}),
                           .us_per_step = setup.any({0, 5}),
                           .us_per_token = setup.any({0, 1, 5})};
  const EngineLimits limits{.chunk_tokens = setup.any({7u, 64u, 256u}),
                            .step_tokens_max = setup.any({2u, 13u, 300u}),
                            .draft_tokens_max = setup.any({1u, 8u, 64u})};
  SimMix mix(seed, options);
  SimWorld world(options, limits, mix.any({9u, 14u, 100u}));
  world.engine->set_draft_actor(true);
  std::map<SequenceId, SequenceSpec> specs;
  std::map<SequenceId, std::vector<int32_t>> truths;
  for (uint32_t i = 0; i < 5; ++i) {
    const SequenceSpec spec = mix.spec(150, 100);
    const SequenceId id = world.add(spec);
    specs[id] = spec;
    truths[id] = spec.tokens;
    const SimOutput plain = sim_plain(spec, options);
    truths[id].insert(truths[id].end(), plain.tokens.begin(), plain.tokens.end());
  }
  std::vector<DraftAnswer> late;
  for (int steps = 0; world.engine->has_work(); ++steps) {
    REQUIRE(steps < 100000);
    engine::StepPlan plan = world.engine->plan();
    world.check_plan(plan);
    for (const DraftAsk& ask : world.engine->draft_asks()) {
      late.push_back(lie(mix, ask, truths[ask.sequence]));
    }
    const auto tell = [&] {
      while (!late.empty() && mix.chance(60)) {
        const size_t which = mix.below(static_cast<uint32_t>(late.size()));
        world.engine->take_draft_answer(late[which]);
        if (mix.chance(80)) late.erase(late.begin() + static_cast<std::ptrdiff_t>(which));
      }
    };
    tell();
    if (plan.spans.empty()) {
      world.take(world.engine->accept({plan.step, {}, 0}));
    } else {
      world.take(world.engine->accept(world.compute(std::move(plan))));
    }
    tell();
    if (mix.chance(2)) world.engine->set_draft_actor(mix.chance(50));
  }
  for (const auto& [id, spec] : specs) check_continues(spec, world.outputs[id], options, true);
  world.check_all_free();
}

TEST_CASE("150 random set-ups with lying, late and repeated proposals give the plain text") {
  for (uint32_t seed = 1; seed <= 150; ++seed) run_lies(seed);
}

}  // namespace
}  // namespace troupe::testing
