#include "engine/prompt_lookup.hpp"

#include <doctest/doctest.h>

#include <map>

#include "tests/support/sim_world.hpp"

namespace troupe::engine {
namespace {

TEST_CASE("the table finds where an n-gram ended before, as a plain map does") {
  const std::vector<int32_t> tokens = testing::sim_tokens(3000, 1, 9);
  for (uint32_t n = 1; n <= 3; ++n) {
    NgramTable table;
    std::map<std::vector<int32_t>, uint32_t> expected;
    for (uint32_t end = n; end <= tokens.size(); ++end) {
      const std::vector<int32_t> ngram(tokens.begin() + (end - n), tokens.begin() + end);
      uint32_t& previous = expected[ngram];
      REQUIRE(table.exchange(NgramTable::tag(ngram), end) == previous);
      previous = end;
    }
  }
}

TEST_CASE("the longest match wins, the newest of equals") {
  PromptLookup lookup;
  const std::vector<int32_t> tokens = {1, 2, 3, 40, 41, 1, 2, 3, 50, 51, 9, 3, 60, 1, 2, 3};
  REQUIRE(lookup.feed(tokens, 100));
  CHECK(lookup.propose(tokens, 8) == std::vector<int32_t>{50, 51});
  CHECK(lookup.propose(tokens, 1) == std::vector<int32_t>{50});
  CHECK(lookup.propose(tokens, 0).empty());
}

TEST_CASE("a long prompt is indexed in parts") {
  PromptLookup lookup;
  const std::vector<int32_t> tokens = testing::sim_tokens(250, 1);
  CHECK_FALSE(lookup.feed(tokens, 100));
  CHECK_FALSE(lookup.feed(tokens, 100));
  CHECK(lookup.feed(tokens, 100));
  CHECK(lookup.feed(tokens, 0));
}

TEST_CASE("a loop is drafted to the limit once it proved true") {
  PromptLookup lookup;
  std::vector<int32_t> tokens;
  const auto next = [&] { return static_cast<int32_t>(tokens.size() % 3); };
  uint32_t longest = 0;
  for (int step = 0; step < 50; ++step) {
    tokens.push_back(next());
    REQUIRE(lookup.feed(tokens, 100));
    const std::vector<int32_t> drafts = lookup.propose(tokens, 8);
    longest = std::max(longest, static_cast<uint32_t>(drafts.size()));
    for (const int32_t draft : drafts) {
      REQUIRE(draft == next());
      tokens.push_back(draft);
    }
    lookup.record(static_cast<uint32_t>(drafts.size()), static_cast<uint32_t>(drafts.size()));
  }
  CHECK(longest == 8);
  CHECK(tokens.size() > 300);
}

TEST_CASE("drafts that never come true stop, but for 2 percent") {
  PromptLookup lookup;
  const std::vector<int32_t> text = testing::sim_tokens(5000, 3, 4);
  std::vector<int32_t> tokens;
  uint32_t drafted = 0;
  for (const int32_t token : text) {
    tokens.push_back(token);
    REQUIRE(lookup.feed(tokens, 100));
    const auto count = static_cast<uint32_t>(lookup.propose(tokens, 8).size());
    lookup.record(count, 0);
    drafted += count;
  }
  CHECK(drafted > 10);
  CHECK(drafted <= 100 + 3);
}

TEST_CASE("drafting comes back after text without repetition") {
  PromptLookup lookup;
  std::vector<int32_t> tokens = testing::sim_tokens(2000, 3, 4);
  REQUIRE(lookup.feed(tokens, 2000));
  for (int i = 0; i < 500; ++i) {
    lookup.record(static_cast<uint32_t>(lookup.propose(tokens, 8).size()), 0);
  }
  size_t proposed = 0;
  for (int i = 0; i < 200; ++i) {
    const auto count = static_cast<uint32_t>(lookup.propose(tokens, 8).size());
    lookup.record(count, count);
    proposed = std::max<size_t>(proposed, count);
  }
  CHECK(proposed == 8);
}

}  // namespace
}  // namespace troupe::engine
