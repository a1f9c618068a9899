// Where a string of a set may start, and the longest that does.
#include "text/token_trie.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

namespace troupe::testing {
namespace {

TEST_CASE("token trie: starts and longest strings are those of a plain search") {
  const std::vector<std::vector<std::string>> sets = {
      {}, {"<"}, {"<|a|>", "<|a", "<b>"}, {"<|a|>", "[b]"}, {std::string("\0x", 2), "\xff\xfe"}};
  std::mt19937 dice(3);
  for (const auto& set : sets) {
    text::TokenTrie trie;
    for (size_t i = 0; i < set.size(); ++i) trie.add(set[i], static_cast<int32_t>(i));
    for (int round = 0; round < 500; ++round) {
      std::string text;
      for (auto n = dice() % 40; n > 0; --n) {
        text += !set.empty() && dice() % 4 == 0 ? set[dice() % set.size()]
                                                : std::string(1, static_cast<char>(dice()));
      }
      const size_t from = dice() % (text.size() + 1);
      size_t start = from;
      const auto starts = [&](size_t at) {
        for (const std::string& one : set) {
          if (one[0] == text[at]) return true;
        }
        return false;
      };
      while (start < text.size() && !starts(start)) ++start;
      REQUIRE(trie.next_start(text, from) == start);
      if (start == text.size()) continue;
      int32_t longest = -1;
      size_t bytes = 0;
      for (size_t i = 0; i < set.size(); ++i) {
        const bool is_here = text.compare(start, set[i].size(), set[i]) == 0;
        if (is_here && set[i].size() > bytes) {
          longest = static_cast<int32_t>(i);
          bytes = set[i].size();
        }
      }
      const auto match = trie.longest_at(text, start);
      REQUIRE(match.id == longest);
      REQUIRE(match.bytes == bytes);
    }
  }
}

}  // namespace
}  // namespace troupe::testing
