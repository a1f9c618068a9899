// The output is a function of prompt, parameters and seed, whatever the engine does meanwhile.
#include "engine/branches.hpp"
#include "tests/support/sim_world.hpp"

namespace troupe::testing {
namespace {

using engine::EngineLimits;
using engine::FinishReason;
using engine::SequenceId;
using engine::SequenceSpec;
using engine::SimOptions;

TEST_CASE("chunk sizes change nothing") {
  const SequenceSpec spec = sim_spec(sim_tokens(300, 1), 100, 7);
  const SimOutput plain = sim_plain(spec);
  REQUIRE(plain.finish == FinishReason::length);
  REQUIRE(plain.tokens.size() == 100);
  for (const uint32_t chunk : {1u, 3u, 16u, 64u, 100u, 300u}) {
    CAPTURE(chunk);
    SimWorld world({}, EngineLimits{.chunk_tokens = chunk, .step_tokens_max = 512});
    const SequenceId id = world.add(spec);
    world.run();
    CHECK(world.outputs[id].same_text(plain));
    world.check_all_free();
  }
}

TEST_CASE("seed, choice, temperature and prompt do change the output") {
  const SequenceSpec spec = sim_spec(sim_tokens(70, 1), 20, 7);
  const SimOutput plain = sim_plain(spec);
  SequenceSpec other = spec;
  other.sampling.seed = 8;
  CHECK(sim_plain(other).tokens != plain.tokens);
  other = spec;
  other.sampling.choice = 1;
  CHECK(sim_plain(other).tokens != plain.tokens);
  other = spec;
  other.sampling.temperature = 0;
  CHECK(sim_plain(other).tokens != plain.tokens);
  other = spec;
  other.tokens[0] ^= 1;
  CHECK(sim_plain(other).tokens != plain.tokens);
}

TEST_CASE("alone equals among eight others, under tight budgets") {
  for (const uint32_t step_tokens : {1u, 5u, 32u, 512u}) {
    CAPTURE(step_tokens);
    SimWorld world({}, EngineLimits{.chunk_tokens = 64, .step_tokens_max = step_tokens});
    std::vector<std::pair<SequenceId, SimOutput>> expected;
    for (uint32_t i = 0; i < 9; ++i) {
      const SequenceSpec spec = sim_spec(sim_tokens(30 + 40 * i, i), 40, i, i % 2 ? 1.0f : 0.0f);
      expected.emplace_back(world.add(spec), sim_plain(spec));
      if (i % 3 == 2) world.step();
    }
    world.run();
    for (const auto& [id, output] : expected) CHECK(world.outputs[id].same_text(output));
    world.check_all_free();
  }
}

TEST_CASE("cold equals cached, for every alignment of the prompt") {
  for (const uint32_t size : {1u, 2u, 63u, 64u, 65u, 127u, 128u, 129u, 300u, 320u}) {
    CAPTURE(size);
    SimWorld world;
    const SequenceSpec spec = sim_spec(sim_tokens(size, 3), 70, 5);
    const SequenceId cold = world.add(spec);
    world.run();
    const SequenceId warm = world.add(spec);
    CHECK(world.engine->num_cached_blocks(warm) == size / 64);
    CHECK(world.engine->block_names(warm).size() == size / 64);
    const uint64_t computed = world.engine->stats().prefill_tokens;
    world.run();
    // The answer made a whole block of the prompt's last part: all but the newest token of that is
    // copied. One token that follows what is there is a decode step.
    const uint32_t part = size % 64;
    const bool copied = part > engine::limits::branch_tokens_min;
    CHECK(world.engine->stats().prefill_tokens - computed == (copied || part <= 1 ? 0 : part));
    CHECK(world.outputs[cold].same_text(world.outputs[warm]));
    CHECK(world.outputs[cold].same_text(sim_plain(spec)));
    world.check_all_free();
  }
}

TEST_CASE("generated blocks are reused by the next turn of a conversation") {
  SimWorld world;
  const SequenceSpec first = sim_spec(sim_tokens(100, 3), 100, 5);
  const SequenceId a = world.add(first);
  world.run();
  std::vector<int32_t> turn = first.tokens;
  turn.insert(turn.end(), world.outputs[a].tokens.begin(), world.outputs[a].tokens.end());
  turn.push_back(17);
  const SequenceSpec second = sim_spec(turn, 30, 6);
  const SequenceId b = world.add(second);
  CHECK(world.engine->num_cached_blocks(b) == 3);
  world.run();
  CHECK(world.outputs[b].same_text(sim_plain(second)));
}

TEST_CASE("drafts change the speed, never the text") {
  // Two tokens of memory and few tokens to choose from: text that soon goes round in circles.
  const SimOptions repetitive{.vocab_size = 12, .memory_tokens = 2, .us_per_step = 20};
  SequenceSpec spec = sim_spec(sim_tokens(50, 1, 12), 400, 3, 0.0f);
  spec.sampling.frequency_penalty = 0.001f;
  for (const float temperature : {0.0f, 1.0f}) {
    CAPTURE(temperature);
    spec.sampling.temperature = temperature;
    const SimOutput plain = sim_plain(spec, repetitive);
    for (const bool drafts : {false, true}) {
      SimWorld world(repetitive);
      spec.drafts = drafts;
      const SequenceId id = world.add(spec);
      world.run();
      CHECK(world.outputs[id].same_text(plain));
      CHECK((world.outputs[id].accepted_drafts > 0) == drafts);
      if (drafts && temperature == 0.0f) CHECK(world.engine->stats().steps < 200);
      CHECK(world.engine->stats().accepted == world.outputs[id].accepted_drafts);
      world.check_all_free();
    }
  }
}

TEST_CASE("drafts cost text that does not repeat at most 2 percent") {
  SimWorld world;
  const SequenceId id = world.add(sim_spec(sim_tokens(2000, 1), 3000, 3));
  world.run();
  CHECK(world.outputs[id].tokens.size() == 3000);
  const engine::EngineStats stats = world.engine->stats();
  MESSAGE("drafted ", stats.drafted, ", accepted ", stats.accepted, " of 3000 tokens");
  CHECK(stats.drafted - stats.accepted <= 60);
}

TEST_CASE("preempted equals undisturbed") {
  // 12 pages for four sequences that need 5 each in the end.
  SimWorld world({}, EngineLimits{.chunk_tokens = 64}, 12);
  std::vector<std::pair<SequenceId, SimOutput>> expected;
  for (uint32_t i = 0; i < 4; ++i) {
    const SequenceSpec spec = sim_spec(sim_tokens(100, i), 200, i);
    expected.emplace_back(world.add(spec), sim_plain(spec));
  }
  world.run();
  CHECK(world.engine->stats().preemptions > 0);
  for (const auto& [id, output] : expected) CHECK(world.outputs[id].same_text(output));
  world.check_all_free();
}

TEST_CASE("a resume goes on from every index") {
  SequenceSpec spec = sim_spec(sim_tokens(100, 1), 90, 4);
  spec.sampling.presence_penalty = 0.7f;
  spec.sampling.min_tokens = 40;
  spec.sampling.stop_ids = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
  const SimOutput plain = sim_plain(spec);
  REQUIRE(plain.finish.has_value());
  REQUIRE(plain.tokens.size() >= 40);
  SimWorld world;
  for (uint32_t kept = 0; kept <= plain.tokens.size(); ++kept) {
    CAPTURE(kept);
    SequenceSpec resumed = spec;
    resumed.tokens.insert(resumed.tokens.end(), plain.tokens.begin(), plain.tokens.begin() + kept);
    const SequenceId id = world.add(resumed);
    world.run();
    const SimOutput& output = world.outputs[id];
    CHECK(output.first_index == kept);
    CHECK(std::equal(output.tokens.begin(), output.tokens.end(), plain.tokens.begin() + kept,
                     plain.tokens.end()));
    CHECK(std::equal(output.logprobs.begin(), output.logprobs.end(), plain.logprobs.begin() + kept,
                     plain.logprobs.end()));
    CHECK(output.finish == plain.finish);
  }
  world.check_all_free();
}

TEST_CASE("late completion changes nothing") {
  TimeUs time_us = 0;
  SimOptions late{.polls_until_done = 3, .us_per_step = 100, .us_per_token = 10};
  late.clock = [&] { return time_us; };
  const SequenceSpec spec = sim_spec(sim_tokens(100, 1), 20);
  SimWorld world(late);
  const SequenceId id = world.add(spec);
  while (world.engine->has_work()) {
    const auto ticket = world.backend.submit(world.engine->plan());
    REQUIRE(ticket.ok());
    int polls = 0;
    while (!world.backend.poll(*ticket)) {
      ++polls;
      time_us += 50;
    }
    CHECK(polls >= 3);
    world.take(world.engine->accept(world.backend.wait(*ticket).value()));
  }
  CHECK(world.outputs[id].same_text(sim_plain(spec)));
}

}  // namespace
}  // namespace troupe::testing
