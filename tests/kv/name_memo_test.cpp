#include "kv/name_memo.hpp"

#include <doctest/doctest.h>

#include <random>

namespace troupe::kv {
namespace {

constexpr uint32_t block = 64;

std::vector<int32_t> some_tokens(size_t count, uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(engine() % 1000);
  return tokens;
}

BlockName root_of(uint8_t value) {
  BlockName root;
  root.bytes[3] = value;
  return root;
}

TEST_CASE("names are those of block_names, whatever was named before") {
  NameMemo memo(20'000);
  std::mt19937 dice(3);
  std::vector<std::vector<int32_t>> sessions = {some_tokens(3000, 1)};
  for (int step = 0; step < 400; ++step) {
    // A session goes on, parts from another somewhere, changes in one token, or is new.
    std::vector<int32_t> tokens = sessions[dice() % sessions.size()];
    const auto more = some_tokens(dice() % 400, static_cast<uint32_t>(step));
    const auto what = dice() % 4;
    if (what == 1) tokens.resize(dice() % (tokens.size() + 1));
    if (what == 2 && !tokens.empty()) tokens[dice() % tokens.size()] += 1;
    if (what == 3) tokens = some_tokens(dice() % 5000, 100 + static_cast<uint32_t>(step));
    tokens.insert(tokens.end(), more.begin(), more.end());
    const BlockName root = root_of(static_cast<uint8_t>(dice() % 2));
    REQUIRE(memo.names(root, tokens, block) == block_names(root, tokens, block));
    REQUIRE(memo.num_tokens() <= 20'000);
    sessions.push_back(tokens.size() > 9000 ? some_tokens(2000, 7) : tokens);
    if (sessions.size() > 12) sessions.erase(sessions.begin());
  }
}

TEST_CASE("a session that goes on is one prompt, what parts from it another") {
  NameMemo memo;
  auto tokens = some_tokens(4096, 1);
  memo.names(root_of(1), tokens, block);
  CHECK(memo.num_tokens() == 4096);
  const auto more = some_tokens(100, 2);
  tokens.insert(tokens.end(), more.begin(), more.end());
  memo.names(root_of(1), tokens, block);
  CHECK(memo.num_prompts() == 1);
  CHECK(memo.num_tokens() == 4096 + 64);
  memo.names(root_of(1), std::span(tokens).first(2000), block);
  CHECK(memo.num_prompts() == 1);
  tokens[3000] += 1;
  memo.names(root_of(1), tokens, block);
  CHECK(memo.num_prompts() == 2);
  memo.names(root_of(2), tokens, block);
  CHECK(memo.num_prompts() == 3);
}

TEST_CASE("short prompts, none, and more than there is room for leave nothing behind") {
  NameMemo memo(10'000);
  for (const size_t size : {size_t{0}, size_t{63}, size_t{1023}, size_t{10'048}}) {
    const auto tokens = some_tokens(size, 5);
    CHECK(memo.names(root_of(1), tokens, block) == block_names(root_of(1), tokens, block));
    CHECK(memo.num_prompts() == 0);
  }
  CHECK(memo.names(root_of(1), some_tokens(2000, 5), 0).empty());
}

}  // namespace
}  // namespace troupe::kv
