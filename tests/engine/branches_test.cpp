#include "engine/branches.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>

#include "tests/support/sim_world.hpp"

using namespace troupe;
using troupe::testing::SimWorld;

namespace {

kv::BlockName named(uint32_t number) {
  kv::BlockName name;
  std::memcpy(name.bytes.data(), &number, sizeof number);
  return name;
}

std::vector<int32_t> counting(int32_t first, size_t count) {
  std::vector<int32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

constexpr auto everything = [](const kv::BlockName&) { return true; };

}  // namespace

TEST_CASE("of the blocks behind one, that with most leading tokens in common is found") {
  engine::Branches branches(100, 8);
  CHECK_FALSE(branches.longest(named(0), counting(0, 8), everything).has_value());
  branches.remember(named(0), named(1), std::vector<int32_t>{1, 2, 3, 4, 5, 6, 7, 8});
  branches.remember(named(0), named(2), std::vector<int32_t>{1, 2, 9, 4, 5, 6, 7, 8});
  branches.remember(named(7), named(3), std::vector<int32_t>{1, 2, 9, 9, 5, 6, 7, 8});

  const auto found = branches.longest(named(0), std::vector<int32_t>{1, 2, 9, 9, 9}, everything);
  REQUIRE(found.has_value());
  CHECK(found->name == named(2));
  CHECK(found->shared == 3);
  CHECK(branches.longest(named(0), std::vector<int32_t>{1}, everything)->shared == 1);
  CHECK_FALSE(branches.longest(named(0), std::vector<int32_t>{5}, everything).has_value());
  CHECK_FALSE(branches.longest(named(0), {}, everything).has_value());

  // What was evicted is passed by.
  const auto without = branches.longest(named(0), std::vector<int32_t>{1, 2, 9},
                                        [](const kv::BlockName& name) { return name != named(2); });
  CHECK(without->name == named(1));
  CHECK(without->shared == 2);
}

TEST_CASE("a part of a block, or a block known already, is not remembered") {
  engine::Branches branches(100, 8);
  branches.remember(named(0), named(1), counting(0, 7));
  CHECK(branches.size() == 0);
  branches.remember(named(0), named(1), counting(0, 8));
  branches.remember(named(0), named(1), counting(0, 8));
  CHECK(branches.size() == 1);
}

TEST_CASE("the oldest blocks are forgotten, in all and behind one") {
  constexpr uint32_t blocks = 40;
  engine::Branches branches(blocks, 4);
  for (uint32_t i = 0; i < 10 * blocks; ++i) {
    branches.remember(named(i / 2), named(1000 + i), counting(static_cast<int32_t>(i), 4));
  }
  CHECK(branches.size() == blocks);
  for (uint32_t i = 0; i < 10 * blocks; ++i) {
    const std::vector<int32_t> tokens = counting(static_cast<int32_t>(i), 4);
    const auto found = branches.longest(named(i / 2), tokens, everything);
    REQUIRE(found.has_value() == (i >= 9 * blocks));
    if (found) CHECK(found->name == named(1000 + i));
  }

  engine::Branches narrow(1000, 4);
  const uint32_t siblings = 3 * engine::limits::branch_siblings_max;
  for (uint32_t i = 0; i < siblings; ++i) {
    narrow.remember(named(0), named(i + 1), counting(static_cast<int32_t>(100 * i), 4));
  }
  for (uint32_t i = 0; i < siblings; ++i) {
    const std::vector<int32_t> tokens = counting(static_cast<int32_t>(100 * i), 4);
    CHECK(narrow.longest(named(0), tokens, everything).has_value() ==
          (i >= siblings - engine::limits::branch_siblings_max));
  }
}

TEST_CASE("a prompt that parts from an earlier one inside a block computes from there on") {
  for (const uint32_t shared : {3u, 4u, 63u, 64u, 100u, 127u, 128u, 150u}) {
    CAPTURE(shared);
    std::vector<int32_t> first = counting(1, 200), second = first;
    for (size_t i = shared; i < second.size(); ++i) second[i] = 900 - second[i];
    const auto spec = [](const std::vector<int32_t>& tokens, bool prefill_only) {
      engine::SequenceSpec wanted;
      wanted.tokens = tokens;
      wanted.num_prompt_tokens = static_cast<uint32_t>(tokens.size());
      wanted.sampling.max_tokens = 20;
      wanted.prefill_only = prefill_only;
      return wanted;
    };
    SimWorld cold({}, {}, 64);
    const auto expected = cold.add(spec(second, false));
    cold.run();

    SimWorld world({}, {}, 64);
    world.add(spec(first, false));
    world.run();
    const uint64_t before = world.engine->stats().prefill_tokens;
    const auto id = world.add(spec(second, false));
    world.run();
    CHECK(world.outputs[id].same_text(cold.outputs[expected]));
    const uint32_t in_block = shared % 64;
    const uint32_t taken =
        in_block < engine::limits::branch_tokens_min ? shared - in_block : shared;
    // Of the first prompt's 200 tokens and 20 of output three blocks are whole.
    CHECK(world.engine->stats().prefill_tokens - before == 200 - taken);
    CHECK(world.outputs[id].taken_tokens == taken);
    world.check_all_free();
  }
}
