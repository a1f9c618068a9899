// Tenants of one store: who has more than a share of it makes room for those who have less.
#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <set>

#include "kv/block_store.hpp"
#include "kv/limits.hpp"

using namespace troupe;
using namespace troupe::kv;

namespace {

constexpr uint32_t pages = 64;
constexpr size_t block_bytes = 64;

BlockName name_of(uint32_t tenant, uint32_t value) {
  BlockName name;
  const uint32_t mixed[2] = {(value + 1) * 2654435761u, tenant * 40503u + 7};
  std::memcpy(name.bytes.data(), mixed, sizeof mixed);
  return name;
}
BlockName root_of(uint32_t tenant) {
  return name_of(tenant, 1u << 30);
}

struct Shared {
  bool put(uint32_t tenant, uint32_t value, uint8_t priority = 5) {
    OfferedBlock block{name_of(tenant, value), root_of(tenant), 0, priority, root_of(tenant)};
    const auto answer = store.offer(block);
    if (answer.verdict == BlockStore::Verdict::wanted) store.arrived(answer.page);
    return answer.verdict != BlockStore::Verdict::refused;
  }
  [[nodiscard]] uint32_t held(uint32_t tenant) const {
    return store.num_blocks_of(root_of(tenant));
  }

  EventLog events;
  BlockStore store{*allocate_region(pages * block_bytes), block_bytes, events};
};

}  // namespace

TEST_CASE("a tenant alone may have all of a store, and makes room with its own oldest") {
  Shared f;
  for (uint32_t i = 0; i < 3 * pages; ++i) CHECK(f.put(1, i));
  CHECK(f.held(1) == pages);
  for (uint32_t i = 2 * pages; i < 3 * pages; ++i) CHECK(f.store.contains(name_of(1, i)));
}

TEST_CASE("a flood of one tenant takes nothing from those who have less than the share") {
  Shared f;
  for (uint32_t i = 0; i < 20; ++i) f.put(1, i);
  for (uint32_t i = 0; i < 10; ++i) f.put(2, i);
  // Asked for again and again, and still it is its own that has to go.
  for (int turn = 0; turn < 3; ++turn) {
    for (uint32_t i = 0; i < 1000; ++i) f.put(3, i % 300);
  }
  CHECK(f.held(1) == 20);
  CHECK(f.held(2) == 10);
  CHECK(f.held(3) == pages - 30);
}

TEST_CASE("a newcomer takes from who has the share, whatever the age and priority") {
  Shared f;
  for (uint32_t i = 0; i < pages / 4; ++i) f.put(1, i);
  for (uint32_t i = 0; i < pages; ++i) f.put(2, i, 9);
  CHECK(f.held(1) == pages / 4);
  for (uint32_t i = 0; i < pages / 4; ++i) CHECK(f.put(3, i, 1));
  CHECK(f.held(1) == pages / 4);
  CHECK(f.held(2) == pages / limits::tenant_store_share);
  CHECK(f.held(3) == pages / 4);
  f.put(3, 1000);
  CHECK(f.held(2) == pages / limits::tenant_store_share - 1);
  // From here on nobody has the share: the lowest priority goes, then the oldest of all.
  const uint32_t before = f.held(3);
  f.put(3, 1001);
  CHECK(f.held(3) == before);
  f.put(3, 1002, 1);
  CHECK(f.held(3) == before);
  for (uint32_t i = 0; i < pages / 4 - 1; ++i) f.put(3, 2000 + i);
  CHECK(f.held(1) == pages / 4);
  f.put(3, 3000);
  CHECK(f.held(1) == pages / 4 - 1);
}

TEST_CASE("what a chain's later blocks do not say is known from its beginning") {
  Shared f;
  f.put(1, 0);
  OfferedBlock next{name_of(1, 1), name_of(1, 0), 0, 5, {}};
  const auto answer = f.store.offer(next);
  REQUIRE(answer.verdict == BlockStore::Verdict::wanted);
  CHECK(f.held(1) == 2);
  CHECK(f.store.root_of(name_of(1, 1)) == root_of(1));
  f.store.lost(answer.page);
  CHECK(f.held(1) == 1);
}

TEST_CASE("more tenants than can be told apart share one place, and places are used again") {
  EventLog events;
  constexpr uint32_t many = 6000;
  BlockStore store(*allocate_region(many * block_bytes), block_bytes, events);
  const auto put = [&](uint32_t tenant) {
    const auto answer = store.offer({name_of(tenant, 0), root_of(tenant), 0, 5, root_of(tenant)});
    REQUIRE(answer.verdict == BlockStore::Verdict::wanted);
    store.arrived(answer.page);
  };
  for (uint32_t tenant = 0; tenant < 2 * many; ++tenant) put(tenant);
  uint32_t known = 0;
  for (uint32_t tenant = 0; tenant < 2 * many; ++tenant)
    known += store.num_blocks_of(root_of(tenant));
  CHECK(known > 4000);
  CHECK(known <= 4095);
  CHECK(store.stats().held == many);
}

TEST_CASE("random tenants: counts add up") {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Shared f;
    for (uint32_t i = 0; i < 8; ++i) f.put(100, i);
    for (int i = 0; i < 3000; ++i) {
      const uint32_t tenant = random() % 8 == 0 ? 1 + static_cast<uint32_t>(random() % 4) : 5;
      f.put(tenant, static_cast<uint32_t>(random() % 400), static_cast<uint8_t>(random() % 10));
      if (f.store.stats().free > 0) continue;
      uint32_t all = f.held(100);
      for (uint32_t one = 1; one <= 5; ++one) all += f.held(one);
      CHECK(all == pages);
    }
    CHECK(f.store.names_by_worth().size() == f.store.stats().held);
  }
}
