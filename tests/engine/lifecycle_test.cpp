// Ends of every kind, limits, bad input and devices that fail.
#include <cmath>
#include <limits>

#include "tests/support/sim_world.hpp"

namespace troupe::testing {
namespace {

using engine::EngineLimits;
using engine::FinishReason;
using engine::SequenceId;
using engine::SequenceSpec;
using engine::SimOptions;

TEST_CASE("a stop id ends the output and belongs to it, unless it is ignored") {
  SequenceSpec spec = sim_spec(sim_tokens(40, 1), 50);
  const SimOutput plain = sim_plain(spec);
  spec.sampling.stop_ids = {plain.tokens[20]};
  const SimOutput stopped = sim_plain(spec);
  CHECK(stopped.finish == FinishReason::stop);
  CHECK(stopped.tokens.size() == 21);
  spec.sampling.ignore_eos = true;
  CHECK(sim_plain(spec).same_text(plain));
}

TEST_CASE("a stop id that was drafted ends the output in the middle of a span") {
  const SimOptions repetitive{.vocab_size = 12, .memory_tokens = 2};
  SequenceSpec spec = sim_spec(sim_tokens(50, 1, 12), 300, 3, 0.0f);
  SimWorld world(repetitive);
  const SequenceId id = world.add(spec);
  world.run();
  REQUIRE(world.outputs[id].accepted_drafts > 100);
  // A token of the loop that greedy text ends in; min_tokens lets the loop be drafted first.
  spec.sampling.stop_ids = {world.outputs[id].tokens[250]};
  spec.sampling.min_tokens = 100;
  SimWorld stopping(repetitive);
  const SequenceId stopped = stopping.add(spec);
  stopping.run();
  CHECK(stopping.outputs[stopped].same_text(sim_plain(spec, repetitive)));
  stopping.check_all_free();
}

TEST_CASE("the context ends the output") {
  const SimOptions small{.context_max = 100};
  const SequenceSpec spec = sim_spec(sim_tokens(90, 1), 50);
  SimWorld world(small);
  const SequenceId id = world.add(spec);
  world.run();
  CHECK(world.outputs[id].finish == FinishReason::length);
  CHECK(world.outputs[id].tokens.size() == 10);
  world.check_all_free();
}

TEST_CASE("a resume that is complete already ends at once") {
  SequenceSpec spec = sim_spec(sim_tokens(40, 1), 3);
  spec.tokens.insert(spec.tokens.end(), {7, 8, 9});
  SimWorld world;
  const SequenceId full = world.add(spec);
  spec.sampling.max_tokens = 10;
  spec.sampling.stop_ids = {9};
  const SequenceId stopped = world.add(spec);
  const SequenceId cancelled = world.add(spec);
  world.cancel(cancelled);
  CHECK(world.engine->has_work());
  world.run();
  CHECK(world.outputs[full].finish == FinishReason::length);
  CHECK(world.outputs[stopped].finish == FinishReason::stop);
  CHECK(world.outputs[full].tokens.empty());
  CHECK(world.engine->stats().steps == 0);
  world.check_all_free();
}

TEST_CASE("ended while a step runs: pages are free after accept, and nobody hears of it") {
  for (const bool cancel : {true, false}) {
    SimWorld world;
    const SequenceId id = world.add(sim_spec(sim_tokens(128, 1), 50));
    const SequenceId other = world.add(sim_spec(sim_tokens(30, 2), 5));
    engine::StepPlan plan = world.engine->plan();
    REQUIRE(plan.spans.size() == 2);
    const uint32_t free_before = world.pool.num_free();
    if (cancel) {
      world.cancel(id);
    } else {
      world.finish(id);
    }
    CHECK(world.pool.num_free() == free_before);
    CHECK(world.engine->stats().running == 1);
    CHECK(world.engine->plan().spans.empty());
    world.take(world.engine->accept(world.compute(std::move(plan))));
    CHECK(world.index.size() == (cancel ? 0 : 2));
    CHECK(world.pool.num_free() + world.index.num_evictable() == free_before + 2);
    world.run();
    CHECK(world.outputs[other].tokens.size() == 5);
    world.check_all_free();
  }
}

TEST_CASE("a failed draw fails its sequence alone") {
  const SimOptions failing{.failing_token = 999};
  SimWorld world(failing);
  std::vector<int32_t> bad = sim_tokens(100, 1, 900);
  bad[80] = 999;
  const SequenceId failed = world.add(sim_spec(bad, 5));
  SequenceSpec good = sim_spec(sim_tokens(100, 2, 900), 5);
  good.sampling.logit_bias = {{999, -1000.0f}};
  const SequenceId fine = world.add(good);
  world.run();
  CHECK(world.outputs[failed].finish == FinishReason::failed);
  CHECK(world.outputs[failed].error->what.find("NaN") != std::string::npos);
  CHECK(world.outputs[fine].same_text(sim_plain(good)));
  world.check_all_free();
}

TEST_CASE("a refused step fails the sequences in it, later ones go on") {
  SimWorld world(SimOptions{.failing_step = 2});
  const SequenceId failed = world.add(sim_spec(sim_tokens(100, 1), 5));
  world.step();
  engine::StepPlan plan = world.engine->plan();
  const auto ticket = world.backend.submit(plan);
  REQUIRE_FALSE(ticket.ok());
  world.take(world.engine->reject(ticket.error()));
  CHECK(world.outputs[failed].finish == FinishReason::failed);
  const SequenceId fine = world.add(sim_spec(sim_tokens(100, 2), 5));
  world.run();
  CHECK(world.outputs[fine].finish == FinishReason::length);
  world.check_all_free();
}

TEST_CASE("results that do not fit the plan fail its sequences") {
  SimWorld world;
  const SequenceId first = world.add(sim_spec(sim_tokens(10, 1), 5));
  engine::StepPlan plan = world.engine->plan();
  world.take(world.engine->accept({plan.step, {}, 0}));
  CHECK(world.outputs[first].error->code == Code::internal);

  const SequenceId second = world.add(sim_spec(sim_tokens(10, 1), 5));
  plan = world.engine->plan();
  engine::StepResult result = world.compute(plan);
  result.spans[0].draws[0].token = 1000;
  world.take(world.engine->accept(result));
  CHECK(world.outputs[second].finish == FinishReason::failed);

  const SequenceId third = world.add(sim_spec(sim_tokens(10, 1), 5));
  plan = world.engine->plan();
  result = world.compute(plan);
  result.spans[0].draws.clear();
  world.take(world.engine->accept(result));
  CHECK(world.outputs[third].finish == FinishReason::failed);
  world.check_all_free();
}

TEST_CASE("a sequence that outgrows the pool fails, with the sizes") {
  SimWorld world({}, {}, 3);
  const SequenceId id = world.add(sim_spec(sim_tokens(100, 1), 500));
  world.run();
  CHECK(world.outputs[id].finish == FinishReason::failed);
  CHECK(world.outputs[id].error->code == Code::exhausted);
  CHECK(world.outputs[id].error->what.find("needs 4 KV pages, the pool has 3") !=
        std::string::npos);
  CHECK(world.outputs[id].tokens.size() == 3 * 64 - 100 + 1);
  world.check_all_free();
}

TEST_CASE("bad input is refused with a reason") {
  SimWorld world(SimOptions{.context_max = 1000}, EngineLimits{.waiting_max = 2}, 10);
  const auto refused = [&](const SequenceSpec& spec, Code code, const char* words) {
    const auto result = world.engine->add(spec);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == code);
    CHECK_MESSAGE(result.error().message().find(words) != std::string::npos,
                  result.error().message());
  };
  refused(sim_spec({}, 5), Code::invalid_argument, "empty");
  refused(sim_spec({1, -1}, 5), Code::invalid_argument, "token 1 of the prompt is -1");
  refused(sim_spec({1000}, 5), Code::invalid_argument, "999");
  refused(sim_spec(sim_tokens(1000, 1), 5), Code::invalid_argument, "at most 999 tokens");
  refused(sim_spec(sim_tokens(650, 1), 5), Code::exhausted, "needs 11 KV pages, the pool has 10");
  SequenceSpec spec = sim_spec({1, 2}, 5);
  spec.num_prompt_tokens = 3;
  refused(spec, Code::invalid_argument, "only 2 tokens");
  spec = sim_spec({1, 2}, 5);
  spec.sampling.temperature = std::numeric_limits<float>::quiet_NaN();
  refused(spec, Code::invalid_argument, "temperature");
  world.add(sim_spec({1}, 1));
  world.add(sim_spec({2}, 1));
  refused(sim_spec({3}, 1), Code::exhausted, "queue is full");
  world.run();
  world.add(sim_spec({3}, 1));
  world.run();
  world.check_all_free();
}

TEST_CASE("more sequences than may run wait their turn") {
  SimWorld world({}, EngineLimits{.running_max = 3});
  std::vector<SequenceId> ids;
  for (uint32_t i = 0; i < 10; ++i) ids.push_back(world.add(sim_spec(sim_tokens(20, i), 10, i)));
  while (world.step()) CHECK(world.engine->stats().running <= 3);
  for (const SequenceId id : ids) CHECK(world.outputs[id].tokens.size() == 10);
  world.check_all_free();
}

TEST_CASE("a prompt of 200,000 tokens") {
  SimOptions options;
  options.verify_all = false;
  SimWorld world(options, EngineLimits{.chunk_tokens = 2048, .step_tokens_max = 2048}, 3200);
  const SequenceSpec spec = sim_spec(sim_tokens(200000, 1), 70);
  const SequenceId cold = world.add(spec);
  world.run();
  const SequenceId cached = world.add(spec);
  CHECK(world.engine->num_cached_blocks(cached) == 200000 / 64);
  world.run();
  CHECK(world.outputs[cold].tokens.size() == 70);
  CHECK(world.outputs[cold].same_text(world.outputs[cached]));
  world.check_all_free();
}

}  // namespace
}  // namespace troupe::testing
