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
  REQUIRE(lookup.feed(tokens, 0, 100));
  CHECK(lookup.length() == 3);
  CHECK(lookup.guess(tokens, 2) == std::vector<int32_t>{50, 51});
  CHECK(lookup.guess(tokens, 1) == std::vector<int32_t>{50});
  CHECK(lookup.guess(tokens, 0).empty());
}

TEST_CASE("without a match there is no guess") {
  PromptLookup lookup;
  const std::vector<int32_t> tokens = {1, 2, 3, 4, 5};
  REQUIRE(lookup.feed(tokens, 0, 100));
  CHECK(lookup.length() == 0);
  CHECK(lookup.guess(tokens, 5).empty());
  CHECK(lookup.outcomes().empty());
}

TEST_CASE("a long prompt is indexed in parts") {
  PromptLookup lookup;
  const std::vector<int32_t> tokens = testing::sim_tokens(250, 1);
  CHECK_FALSE(lookup.feed(tokens, 0, 100));
  CHECK_FALSE(lookup.feed(tokens, 0, 100));
  CHECK(lookup.feed(tokens, 0, 100));
  CHECK(lookup.feed(tokens, 0, 0));
}

TEST_CASE("a run is followed past newer, shorter matches, and its length is the match's") {
  // A text of 30 tokens, the end of it in another place, and the text again.
  const std::vector<int32_t> text = testing::sim_tokens(30, 1, 1000);
  std::vector<int32_t> tokens = text;
  tokens.push_back(2000);
  tokens.insert(tokens.end(), text.begin() + 17, text.begin() + 20);
  tokens.insert(tokens.end(), {3000, 3001});
  tokens.insert(tokens.end(), text.begin(), text.begin() + 20);
  PromptLookup lookup;
  REQUIRE(lookup.feed(tokens, 0, 1000));
  CHECK(lookup.length() == 20);
  CHECK(lookup.guess(tokens, 3) == std::vector<int32_t>(text.begin() + 20, text.begin() + 23));
}

TEST_CASE("a loop is guessed at full length") {
  PromptLookup lookup;
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 7; ++i) tokens.push_back(i % 3);
  REQUIRE(lookup.feed(tokens, 0, 100));
  CHECK(lookup.guess(tokens, 8) == std::vector<int32_t>{1, 2, 0, 1, 2, 0, 1, 2});
}

TEST_CASE("each drawn token says how the guess before it fared; a prompt says nothing") {
  PromptLookup lookup;
  std::vector<int32_t> tokens = {5, 6, 7, 8, 5, 6, 7, 8};
  const auto prompt = static_cast<uint32_t>(tokens.size());
  REQUIRE(lookup.feed(tokens, prompt, 100));
  CHECK(lookup.outcomes().empty());
  CHECK(lookup.length() == 4);
  tokens.insert(tokens.end(), {5, 9, 6});
  REQUIRE(lookup.feed(tokens, prompt, 100));
  // 5 was right, 9 was wrong, and before 6 there was no guess.
  REQUIRE(lookup.outcomes().size() == 2);
  CHECK(lookup.outcomes()[0].right);
  CHECK(lookup.outcomes()[0].length == 4);
  CHECK_FALSE(lookup.outcomes()[1].right);
  CHECK(lookup.outcomes()[1].length == 5);
}

}  // namespace
}  // namespace troupe::engine
