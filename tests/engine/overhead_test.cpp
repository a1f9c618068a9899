// What the engine itself costs per step.
#include <algorithm>

#include "base/clock.hpp"
#include "tests/support/sim_world.hpp"

namespace troupe::testing {
namespace {

TEST_CASE("planning and accepting a step of 32 decoding sequences is cheap") {
  SimWorld world({}, engine::EngineLimits{.chunk_tokens = 512}, 2000);
  for (uint32_t i = 0; i < 32; ++i) world.add(sim_spec(sim_tokens(1000, i), 200, i));
  std::vector<TimeUs> costs_us;
  while (world.engine->has_work()) {
    const TimeUs start_us = now_us();
    engine::StepPlan plan = world.engine->plan();
    const TimeUs planned_us = now_us();
    const bool all_decode = plan.spans.size() == 32 && plan.num_tokens() < 48;
    const engine::StepResult result = world.compute(std::move(plan));
    const TimeUs accepting_us = now_us();
    const engine::Outcome outcome = world.engine->accept(result);
    const TimeUs end_us = now_us();
    world.take(outcome);
    if (all_decode) costs_us.push_back(end_us - accepting_us + planned_us - start_us);
  }
  REQUIRE(costs_us.size() > 100);
  std::nth_element(costs_us.begin(), costs_us.begin() + costs_us.size() / 2, costs_us.end());
  const TimeUs median_us = costs_us[costs_us.size() / 2];
  MESSAGE("plan and accept take ", median_us, " us for 32 sequences");
  // Far above the aim of 50: a busy machine or a sanitizer must not fail the test.
  CHECK(median_us < 2000);
}

}  // namespace
}  // namespace troupe::testing
