#include "engine/draft_policy.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "engine/acceptance.hpp"

namespace troupe::engine {
namespace {

TEST_CASE("lengths of matches fall into classes that double") {
  const std::vector<std::pair<uint32_t, size_t>> expected = {
      {1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {8, 3}, {9, 4}, {16, 4}, {17, 5}, {1000000, 5}};
  for (const auto& [length, match] : expected) CHECK(match_class(length) == match);
}

TEST_CASE("chances follow what was observed, old observations fade") {
  Acceptance acceptance(20);
  CHECK(acceptance.chance(DraftSource::own, 3, 0.4f, 4) == doctest::Approx(0.4));
  for (int i = 0; i < 200; ++i) acceptance.observe(DraftSource::own, 3, true);
  CHECK(acceptance.chance(DraftSource::own, 4, 0.4f, 4) > 0.85f);
  CHECK(acceptance.chance(DraftSource::own, 5, 0.4f, 4) == doctest::Approx(0.4));
  CHECK(acceptance.chance(DraftSource::shared, 3, 0.4f, 4) == doctest::Approx(0.4));
  for (int i = 0; i < 100; ++i) acceptance.observe(DraftSource::own, 4, false);
  CHECK(acceptance.chance(DraftSource::own, 3, 0.4f, 4) < 0.1f);
}

StepCosts costs_of(double fixed_us, double token_us, uint32_t seed = 1, int noise = 0) {
  StepCosts costs;
  std::mt19937 random(seed);
  for (uint32_t i = 0; i < 400; ++i) {
    const uint32_t tokens = i % 3 == 0 ? 1 + i % 9 : 1;
    double us = fixed_us + token_us * tokens;
    if (noise > 0 && static_cast<int>(random() % 100) < noise) us *= 20;
    costs.record(tokens, static_cast<int64_t>(us));
  }
  return costs;
}

TEST_CASE("the cost of a token more is learned from the steps") {
  CHECK(costs_of(8000, 2000).share() == doctest::Approx(0.2).epsilon(0.05));
  CHECK(costs_of(1000, 9000).share() == doctest::Approx(0.9).epsilon(0.05));
  CHECK(costs_of(8000, 2000).of(6) == doctest::Approx(2.0).epsilon(0.05));
}

TEST_CASE("interrupted steps change little of what is known") {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    CHECK(costs_of(8000, 2000, seed, 10).share() == doctest::Approx(0.2).epsilon(0.5));
  }
}

TEST_CASE("without steps of several sizes nothing is concluded") {
  StepCosts costs;
  const double before = costs.share();
  for (int i = 0; i < 100; ++i) costs.record(1, 5000 + i);
  for (int i = 0; i < 100; ++i) costs.record(5, 0);
  for (int i = 0; i < 100; ++i) costs.record(5000, 100);
  CHECK(costs.share() == before);
}

TEST_CASE("a bad moment is forgotten, so that drafts are tried again") {
  StepCosts costs;
  for (int i = 0; i < 50; ++i) costs.record(1, 10'000);
  const double before = costs.share();
  for (int i = 0; i < 5; ++i) costs.record(9, 300'000);
  CHECK(costs.share() > 0.7);
  for (int i = 0; i < 2000; ++i) costs.record(1, 10'000);
  CHECK(costs.share() == doctest::Approx(before).epsilon(0.1));
}

TEST_CASE("drafts are chosen as tokens per time is largest") {
  const StepCosts costs = costs_of(8000, 2000);
  const std::vector<float> sure(16, 1.0f), likely(16, 0.8f), unlikely(16, 0.15f);
  CHECK(choose_draft_count(sure, {}, costs).count == 16);
  CHECK(choose_draft_count(unlikely, {}, costs).count == 0);
  const DraftChoice some = choose_draft_count(likely, {}, costs);
  CHECK(some.count > 2);
  CHECK(some.count < 10);
  // By hand, for two: 1 + 0.8 + 0.64 tokens in the time of 1.4 steps.
  const std::vector<float> two(2, 0.8f);
  const DraftChoice by_hand = choose_draft_count(two, {}, costs);
  CHECK(by_hand.count == 2);
  CHECK(by_hand.expected == doctest::Approx(1.44));
  CHECK(by_hand.gain == doctest::Approx(2.44 / 1.4).epsilon(0.01));
}

TEST_CASE("where each token costs a whole step nothing is drafted") {
  const std::vector<float> likely(16, 0.95f);
  CHECK(choose_draft_count(likely, {}, costs_of(1, 10000)).count == 0);
}

TEST_CASE("a step that is busy with others needs better chances") {
  const StepCosts costs = costs_of(8000, 2000);
  const std::vector<float> fair(8, 0.5f);
  CHECK(choose_draft_count(fair, {}, costs).count > 0);
  // 32 sequences: a token more costs nearly as much as one of theirs, and gives half of one.
  CHECK(choose_draft_count(fair, {32, 32}, costs).count == 0);
}

TEST_CASE("no chances, no drafts") {
  CHECK(choose_draft_count({}, {}, StepCosts()).count == 0);
}

}  // namespace
}  // namespace troupe::engine
