#include "kv/cluster_index.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <random>
#include <set>

#include "base/concat.hpp"

using troupe::concat;
using namespace troupe::kv;

namespace {

BlockName name_of(uint32_t value) {
  BlockName name;
  value *= 2654435761u;
  std::memcpy(name.bytes.data(), &value, sizeof value);
  return name;
}

Event stored(uint64_t number, uint32_t value, Tier tier = Tier::device) {
  return {number, true, tier, name_of(value)};
}

Event removed(uint64_t number, uint32_t value, Tier tier = Tier::device) {
  return {number, false, tier, name_of(value)};
}

std::vector<BlockName> names_of(uint32_t first, uint32_t count) {
  std::vector<BlockName> names;
  for (uint32_t i = 0; i < count; ++i) names.push_back(name_of(first + i));
  return names;
}

std::vector<Residence> residences_of(uint32_t first, uint32_t count) {
  std::vector<Residence> blocks;
  for (uint32_t i = 0; i < count; ++i) blocks.push_back({name_of(first + i), Tier::device});
  return blocks;
}

/// An index to which the workers a, b and c have been announced.
ClusterIndex index_of_three(size_t residences_max = limits::residences_max) {
  ClusterIndex index(residences_max);
  for (const char* worker : {"a", "b", "c"}) CHECK(index.begin(worker, 1));
  return index;
}

}  // namespace

TEST_CASE("match gives each worker's prefix, by the fastest tier") {
  ClusterIndex index = index_of_three();
  for (uint32_t i = 1; i <= 3; ++i) CHECK(index.apply("a", 1, stored(i, i)) == Applied::applied);
  CHECK(index.apply("b", 1, stored(1, 1)) == Applied::applied);
  CHECK(index.apply("b", 1, stored(2, 2, Tier::host)) == Applied::applied);
  CHECK(index.apply("b", 1, stored(3, 3, Tier::disk)) == Applied::applied);
  CHECK(index.apply("b", 1, stored(4, 4, Tier::disk)) == Applied::applied);
  CHECK(index.apply("b", 1, stored(5, 1, Tier::disk)) == Applied::applied);
  CHECK(index.apply("c", 1, stored(1, 2)) == Applied::applied);
  const auto matches = index.match(names_of(1, 5));
  REQUIRE(matches.size() == 2);
  CHECK(matches[0].worker == "b");
  CHECK(matches[0].blocks == 4);
  CHECK(matches[0].by_tier == std::array<uint32_t, 3>{1, 1, 2});
  CHECK(matches[1].worker == "a");
  CHECK(matches[1].by_tier == std::array<uint32_t, 3>{3, 0, 0});
  CHECK(index.match({}).empty());
  CHECK(index.match(names_of(50, 2)).empty());
}

TEST_CASE("a block is gone only when it left its last tier") {
  ClusterIndex index = index_of_three();
  index.apply("a", 1, stored(1, 1));
  index.apply("a", 1, stored(2, 1, Tier::host));
  index.apply("a", 1, removed(3, 1));
  REQUIRE(index.match(names_of(1, 1)).size() == 1);
  CHECK(index.match(names_of(1, 1))[0].by_tier == std::array<uint32_t, 3>{0, 1, 0});
  index.apply("a", 1, removed(4, 1, Tier::host));
  CHECK(index.match(names_of(1, 1)).empty());
  CHECK(index.num_blocks() == 0);
  CHECK(index.apply("a", 1, removed(5, 99)) == Applied::applied);
}

TEST_CASE("a gap is noticed and a snapshot heals it") {
  ClusterIndex index = index_of_three();
  CHECK(index.apply("a", 1, stored(1, 1)) == Applied::applied);
  CHECK(index.apply("a", 1, stored(3, 3)) == Applied::gap);
  CHECK(index.apply("a", 1, stored(4, 4)) == Applied::gap);
  CHECK(index.last_number("a") == 1);
  CHECK(index.apply_snapshot("a", 1, 5, residences_of(10, 4)) == Applied::applied);
  CHECK(index.apply("a", 1, stored(5, 3)) == Applied::duplicate);
  CHECK(index.apply("a", 1, stored(6, 14)) == Applied::applied);
  CHECK(index.match(names_of(1, 1)).empty());
  CHECK(index.match(names_of(10, 9))[0].blocks == 5);
  CHECK(index.apply_snapshot("a", 1, 2, residences_of(1, 1)) == Applied::duplicate);
  CHECK(index.last_number("a") == 6);
}

TEST_CASE("a worker that starts in the middle is a gap, not a guess") {
  ClusterIndex index = index_of_three();
  CHECK(index.apply("a", 1, stored(7, 1)) == Applied::gap);
  CHECK(index.apply("unannounced", 1, stored(1, 1)) == Applied::stale_incarnation);
  CHECK(index.match(names_of(1, 1)).empty());
}

TEST_CASE("a new incarnation starts empty and the old one is not believed any more") {
  ClusterIndex index = index_of_three();
  index.apply("a", 1, stored(1, 1));
  CHECK(index.apply("a", 2, stored(1, 2)) == Applied::stale_incarnation);
  CHECK(index.begin("a", 1));
  CHECK(index.match(names_of(1, 1)).size() == 1);
  CHECK(index.begin("a", 2));
  CHECK(index.apply("a", 2, stored(1, 2)) == Applied::applied);
  CHECK(index.match(names_of(1, 1)).empty());
  CHECK(index.match(names_of(2, 1)).size() == 1);
  CHECK(index.apply("a", 1, stored(2, 1)) == Applied::stale_incarnation);
  CHECK(index.apply_snapshot("a", 1, 9, residences_of(1, 1)) == Applied::stale_incarnation);
}

TEST_CASE("a removed worker leaves nothing behind and its slot is used again") {
  ClusterIndex index = index_of_three();
  index.apply_snapshot("a", 1, 1, residences_of(1, 100));
  index.apply_snapshot("b", 1, 1, residences_of(50, 100));
  index.remove_worker("a");
  index.remove_worker("nobody");
  CHECK(index.num_residences() == 100);
  CHECK(index.num_blocks() == 100);
  CHECK_FALSE(index.last_number("a").has_value());
  index.apply_snapshot("c", 1, 1, residences_of(1, 2));
  CHECK(index.match(names_of(1, 9))[0].worker == "c");
}

TEST_CASE("a full index refuses more and stays right about what it has") {
  ClusterIndex index = index_of_three(10);
  CHECK(index.apply_snapshot("a", 1, 1, residences_of(1, 20)) == Applied::over_limit);
  CHECK(index.num_residences() == 10);
  CHECK(index.match(names_of(1, 20))[0].blocks == 10);
  CHECK(index.apply("a", 1, removed(2, 1)) == Applied::applied);
  CHECK(index.apply("b", 1, stored(1, 1)) == Applied::applied);
  CHECK(index.apply("b", 1, stored(2, 30)) == Applied::over_limit);
}

TEST_CASE("the index agrees with plain sets under a random load") {
  ClusterIndex index;
  for (int w = 0; w < 5; ++w) index.begin(concat("w", w), 1);
  std::map<std::string, std::set<uint32_t>> truth;
  std::map<std::string, uint64_t> numbers;
  std::mt19937 engine(3);
  const auto random = [&engine] { return static_cast<uint32_t>(engine()); };
  for (int step = 0; step < 20000; ++step) {
    const std::string worker = concat("w", random() % 5);
    if (random() % 500 == 0) {
      index.remove_worker(worker);
      index.begin(worker, 1);
      truth[worker].clear();
      numbers[worker] = 0;
      continue;
    }
    const uint32_t value = random() % 40;
    const bool store = random() % 3 != 0;
    const Event event{++numbers[worker], store, Tier::device, name_of(value)};
    REQUIRE(index.apply(worker, 1, event) == Applied::applied);
    if (store) {
      truth[worker].insert(value);
    } else {
      truth[worker].erase(value);
    }
  }
  for (uint32_t first = 0; first < 40; ++first) {
    std::map<std::string, uint32_t> found;
    for (const auto& match : index.match(names_of(first, 40))) found[match.worker] = match.blocks;
    for (const auto& [worker, held] : truth) {
      uint32_t expected = 0;
      while (held.contains(first + expected)) ++expected;
      REQUIRE(found[worker] == expected);
    }
  }
}

TEST_CASE("64 workers are matched to a long prompt, each as far as it has it") {
  ClusterIndex index;
  for (int w = 0; w < 64; ++w) {
    index.begin(concat("worker-", w), 1);
    index.apply_snapshot(concat("worker-", w), 1, 1,
                         residences_of(1, static_cast<uint32_t>(20 * (w + 1))));
  }
  const auto names = names_of(1, 1600);
  const auto matches = index.match(names);
  REQUIRE(matches.size() == 64);
  CHECK(matches[0].blocks == 1280);
  CHECK(matches[63].blocks == 20);
}

TEST_CASE("tiers says of each block where one worker has it, behind gaps too") {
  ClusterIndex index = index_of_three();
  CHECK(index.apply("a", 1, stored(1, 1)) == Applied::applied);
  CHECK(index.apply("b", 1, stored(1, 2, Tier::host)) == Applied::applied);
  CHECK(index.apply("b", 1, stored(2, 4, Tier::disk)) == Applied::applied);
  const auto names = names_of(1, 5);
  CHECK(index.tiers("a", names) == std::vector<uint8_t>{1, 0, 0, 0, 0});
  CHECK(index.tiers("b", names) == std::vector<uint8_t>{0, 2, 0, 4, 0});
  CHECK(index.tiers("c", names) == std::vector<uint8_t>(5, 0));
  CHECK(index.tiers("nobody", names) == std::vector<uint8_t>(5, 0));
  CHECK(index.num_blocks_of("b") == 2);
  CHECK(index.num_blocks_of("nobody") == 0);
  CHECK(index.apply("b", 1, stored(3, 2, Tier::disk)) == Applied::applied);
  CHECK(index.tiers("b", names) == std::vector<uint8_t>{0, 6, 0, 4, 0});
  CHECK(index.num_blocks_of("b") == 2);
  CHECK(index.apply("b", 1, removed(4, 2, Tier::disk)) == Applied::applied);
  CHECK(index.apply("b", 1, removed(5, 2, Tier::host)) == Applied::applied);
  CHECK(index.tiers("b", names) == std::vector<uint8_t>{0, 0, 0, 4, 0});
  CHECK(index.num_blocks_of("b") == 1);
}
