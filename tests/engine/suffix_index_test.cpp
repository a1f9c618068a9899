#include "engine/suffix_index.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/support/sim_world.hpp"

namespace troupe::engine {
namespace {

using testing::sim_tokens;
using Tokens = std::vector<int32_t>;

kv::BlockName group_of(uint8_t tenant) {
  kv::BlockName name;
  name.bytes[5] = tenant;
  return name;
}

constexpr size_t plenty = size_t{64} << 20;

/// The longest match over all places of all documents, the newest of equals.
SuffixMatch reference(const std::vector<Tokens>& documents, const Tokens& context,
                      uint32_t count_max) {
  SuffixMatch best;
  for (const Tokens& document : documents) {
    for (size_t end = 1; end < document.size(); ++end) {
      uint32_t length = 0;
      while (length < std::min({end, context.size(), size_t{limits::match_tokens_max}}) &&
             document[end - 1 - length] == context[context.size() - 1 - length]) {
        ++length;
      }
      if (length < 3 || length < best.length) continue;
      best.length = length;
      const size_t count = std::min(document.size() - end, size_t{count_max});
      best.next.assign(document.begin() + static_cast<std::ptrdiff_t>(end),
                       document.begin() + static_cast<std::ptrdiff_t>(end + count));
    }
  }
  return best;
}

/// Half of the time what stands in a document somewhere, else anything.
Tokens any_context(std::mt19937& random, const std::vector<Tokens>& documents, int32_t vocab) {
  Tokens context = sim_tokens(random() % 5, static_cast<uint32_t>(random()), vocab);
  const Tokens& document = documents[random() % documents.size()];
  const size_t from = random() % document.size();
  const size_t count = std::min<size_t>(random() % 50, document.size() - from);
  const auto begin = document.begin() + static_cast<std::ptrdiff_t>(from);
  context.insert(context.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
  if (random() % 4 == 0) context.push_back(static_cast<int32_t>(random()) % vocab);
  return context;
}

TEST_CASE("finds what a search of all documents finds") {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    // Few enough places of an n-gram that no chain is cut.
    const int32_t vocab = seed % 2 == 0 ? 12 : 300;
    SuffixIndex index(plenty);
    std::vector<Tokens> documents;
    for (int i = 0; i < 30; ++i) {
      documents.push_back(sim_tokens(2 + random() % 110, static_cast<uint32_t>(random()), vocab));
      index.learn(group_of(1), documents.back());
      for (int k = 0; k < 10; ++k) {
        const Tokens context = any_context(random, documents, vocab);
        const SuffixMatch wanted = reference(documents, context, 9);
        const SuffixMatch got = index.find(group_of(1), context, 9);
        REQUIRE(got.length == wanted.length);
        REQUIRE(got.next == wanted.next);
      }
    }
  }
}

TEST_CASE("what one group wrote is never found by another") {
  SuffixIndex index(plenty);
  std::mt19937 random(5);
  std::map<uint8_t, std::vector<Tokens>> written;
  // The same few tokens everywhere: matches across groups would be plenty.
  for (uint32_t i = 0; i < 200; ++i) {
    const auto tenant = static_cast<uint8_t>(random() % 4);
    written[tenant].push_back(sim_tokens(60, i, 20));
    index.learn(group_of(tenant), written[tenant].back());
  }
  CHECK(index.num_groups() == 4);
  size_t found = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto tenant = static_cast<uint8_t>(random() % 4);
    const Tokens context = any_context(random, written[static_cast<uint8_t>(random() % 4)], 20);
    const SuffixMatch got = index.find(group_of(tenant), context, 5);
    if (got.length == 0) continue;
    ++found;
    Tokens proved(context.end() - got.length, context.end());
    proved.insert(proved.end(), got.next.begin(), got.next.end());
    REQUIRE(std::any_of(written[tenant].begin(), written[tenant].end(), [&](const Tokens& text) {
      return std::search(text.begin(), text.end(), proved.begin(), proved.end()) != text.end();
    }));
  }
  CHECK(found > 500);
  const Tokens& secret = written[0].back();
  CHECK(index.find(group_of(0), std::span(secret).first(20), 5).length >= 20);
  CHECK(index.find(group_of(9), std::span(secret).first(20), 5).length == 0);
}

TEST_CASE("memory stays below its limit; the oldest goes, the newest is kept whole") {
  constexpr size_t bytes_max = 200'000;
  SuffixIndex index(bytes_max);
  std::vector<Tokens> documents;
  for (uint32_t i = 0; i < 300; ++i) {
    documents.push_back(sim_tokens(100 + i % 200, i, 5000));
    index.learn(group_of(1), documents.back());
    REQUIRE(index.bytes() <= bytes_max);
    REQUIRE(index.find(group_of(1), std::span(documents.back()).first(40), 100).next.size() >= 60);
  }
  CHECK(index.num_documents() < 60);
  CHECK(index.num_documents() > 15);
  // Exactly the newest are there, and each is right after all the dropping.
  for (size_t i = 0; i < documents.size(); ++i) {
    const bool kept = i + index.num_documents() >= documents.size();
    const auto match = index.find(group_of(1), std::span(documents[i]).first(40), 100);
    CHECK((match.length == 32) == kept);
    if (kept) CHECK(match.next[0] == documents[i][40]);
  }
}

TEST_CASE("a group that writes much pushes out its own documents") {
  SuffixIndex index(200'000);
  const Tokens modest = sim_tokens(500, 1, 5000);
  index.learn(group_of(1), modest);
  for (uint32_t i = 0; i < 300; ++i) index.learn(group_of(2), sim_tokens(400, 10 + i, 5000));
  CHECK(index.find(group_of(1), std::span(modest).first(50), 4).length == 32);
}

TEST_CASE("one index serves at most so many groups; the silent one goes") {
  SuffixIndex index(plenty);
  const Tokens text = sim_tokens(20, 1, 5000);
  const auto numbered = [](size_t i) {
    kv::BlockName name;
    name.bytes[0] = static_cast<uint8_t>(i);
    name.bytes[1] = static_cast<uint8_t>(i >> 8);
    return name;
  };
  for (size_t i = 0; i < limits::index_groups_max + 5; ++i) index.learn(numbered(i), text);
  CHECK(index.num_groups() == limits::index_groups_max);
  CHECK(index.find(numbered(4), std::span(text).first(10), 1).length == 0);
  CHECK(index.find(numbered(5), std::span(text).first(10), 1).length == 10);
}

TEST_CASE("what is known is not stored again, and matches go on across the seams") {
  SuffixIndex index(plenty);
  const Tokens file = sim_tokens(2000, 1, 5000);
  index.learn(group_of(1), file);
  const size_t tokens = index.num_tokens();
  index.learn(group_of(1), file);
  CHECK(index.num_tokens() == tokens);

  // An edit in the middle, and an end of its own.
  Tokens edited = file;
  const Tokens edit = sim_tokens(30, 2, 5000);
  edited.insert(edited.begin() + 900, edit.begin(), edit.end());
  const Tokens more = sim_tokens(40, 3, 5000);
  edited.insert(edited.end(), more.begin(), more.end());
  index.learn(group_of(1), edited);
  CHECK(index.num_tokens() <= tokens + 30 + 40 + 3 * limits::match_tokens_max);

  // Whoever regenerates the edited file is led through all of it.
  size_t wrong = 0;
  for (size_t at = 40; at < edited.size(); ++at) {
    const auto match = index.find(group_of(1), std::span(edited).first(at), 1);
    REQUIRE(match.length == limits::match_tokens_max);
    wrong += match.next.at(0) == edited[at] ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a document larger than the index is cut to its newest part") {
  constexpr size_t bytes_max = 100'000;
  SuffixIndex index(bytes_max);
  const Tokens huge = sim_tokens(100'000, 1, 50'000);
  index.learn(group_of(1), huge);
  CHECK(index.bytes() <= bytes_max);
  CHECK(index.num_tokens() > 1000);
  const Tokens end(huge.end() - 60, huge.end());
  CHECK(index.find(group_of(1), std::span(end).first(50), 10).next ==
        Tokens(end.begin() + 50, end.end()));
}

TEST_CASE("nothing comes of nothing") {
  SuffixIndex index(plenty);
  index.learn(group_of(1), {});
  index.learn(group_of(1), Tokens{7});
  CHECK(index.num_groups() == 0);
  CHECK(index.bytes() == 0);
  index.learn(group_of(1), Tokens{1, 2, 3, 4});
  CHECK(index.find(group_of(1), {}, 5).length == 0);
  CHECK(index.find(group_of(1), Tokens{2, 3}, 5).length == 0);
  CHECK(index.find(group_of(1), Tokens{1, 2, 3}, 0).length == 3);
  CHECK(index.find(group_of(1), Tokens{1, 2, 3}, 5).next == Tokens{4});
  // Nothing follows the end of a document.
  CHECK(index.find(group_of(1), Tokens{2, 3, 4}, 5).length == 0);
}

TEST_CASE("text of one token does not take a search through all of it") {
  SuffixIndex index(plenty);
  const Tokens same(20'000, 7);
  for (int i = 0; i < 20; ++i) index.learn(group_of(1), same);
  const auto match = index.find(group_of(1), same, 50);
  CHECK(match.length == limits::match_tokens_max);
  CHECK(match.next.size() >= 1);
  CHECK(match.next[0] == 7);
}

TEST_CASE("an indexed token takes less than 29 bytes") {
  SuffixIndex index(plenty);
  for (uint32_t i = 0; i < 100; ++i) {
    index.learn(group_of(1), sim_tokens(2000, i, 50'000));
    CHECK(index.bytes() < 29 * index.num_tokens() + 1000);
  }
  MESSAGE("bytes per token: ", index.bytes() / index.num_tokens());
}

}  // namespace
}  // namespace troupe::engine
