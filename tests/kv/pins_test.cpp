// Pins: what is pinned survives pressure until its time is over, within a quota.
#include "kv/pins.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace troupe;
using namespace troupe::kv;

namespace {

const KvLayout layout{1, 1, 2, 4, KvType::f32};
constexpr TimeUs minute = 60'000'000;

BlockName name_of(uint32_t value) {
  BlockName name;
  std::memcpy(name.bytes.data(), &value, sizeof value);
  return name;
}

const BlockName root_a = name_of(0xfffffffe);
const BlockName root_b = name_of(0xffffffff);

struct Worker {
  Worker(uint32_t pages, uint32_t pinned_max)
      : pool(*allocate_region(pages * layout.block_bytes()), layout),
        index(pool, events),
        pins(pool, index, pinned_max) {}

  /// Indexes and gives up a chain first, first + 1, … below `root`.
  std::vector<BlockName> add(uint32_t first, uint32_t count, const BlockName& root) {
    std::vector<BlockName> names;
    std::vector<PageId> pages;
    for (uint32_t i = 0; i < count; ++i) {
      if (pool.num_free() == 0) index.evict(1);
      const auto page = pool.allocate();
      REQUIRE(page.has_value());
      index.insert(name_of(first + i), i == 0 ? root : names.back(), *page);
      names.push_back(name_of(first + i));
      pages.push_back(*page);
    }
    for (const PageId page : pages) pool.release(page);
    return names;
  }
  [[nodiscard]] size_t held(const std::vector<BlockName>& names) const {
    size_t held = 0;
    for (const BlockName& name : names) held += index.find(name).has_value() ? 1 : 0;
    return held;
  }

  Pool pool;
  EventLog events;
  LocalIndex index;
  Pins pins;
};

}  // namespace

TEST_CASE("pinned blocks survive any pressure until their time is over") {
  Worker worker(8, 4);
  const auto kept = worker.add(0, 3, root_a);
  const auto others = worker.add(100, 3, root_a);
  CHECK(worker.pins.pin(kept, root_a, minute, 0) == 3);
  CHECK(worker.index.num_evictable() == 3);
  CHECK(worker.index.evict(100) == 3);
  CHECK(worker.held(kept) == 3);
  CHECK(worker.held(others) == 0);
  worker.pins.expire(minute - 1);
  CHECK(worker.index.evict(100) == 0);
  worker.pins.expire(minute);
  CHECK(worker.pins.size() == 0);
  CHECK(worker.index.num_evictable() == 3);
  CHECK(worker.index.evict(100) == 3);
  CHECK(worker.pool.num_free() == 8);
}

TEST_CASE("a use begins the time of a pin anew, and a longer time is not made shorter") {
  Worker worker(8, 8);
  const auto chain = worker.add(0, 4, root_a);
  worker.pins.pin(std::span(chain).first(2), root_a, 60 * minute, 0);
  worker.pins.pin(chain, root_a, 5 * minute, 0);
  worker.pins.expire(5 * minute);
  CHECK(worker.pins.size() == 2);
  CHECK(worker.pins.pin(chain, root_a, 5 * minute, 6 * minute) == 4);
  worker.pins.use(std::span(chain).first(3), 10 * minute);
  worker.pins.expire(11 * minute);
  CHECK(worker.pins.size() == 3);
  worker.pins.expire(15 * minute);
  CHECK(worker.pins.size() == 2);
  worker.pins.expire(70 * minute - 1);
  CHECK(worker.pins.size() == 2);
  worker.pins.expire(70 * minute);
  CHECK(worker.pins.size() == 0);
}

TEST_CASE("what is not indexed ends a pin") {
  Worker worker(8, 8);
  auto chain = worker.add(0, 3, root_a);
  chain.insert(chain.begin() + 1, name_of(999));
  CHECK(worker.pins.pin(chain, root_a, minute, 0) == 1);
  CHECK(worker.pins.size() == 1);
  worker.pins.use(chain, 10);
  CHECK(worker.pins.size() == 1);
}

TEST_CASE("beyond the quota the pins of a root that end soonest make room") {
  Worker worker(16, 4);
  const auto old = worker.add(0, 4, root_a);
  CHECK(worker.pins.pin(old, root_a, 5 * minute, 0) == 4);
  const auto fresh = worker.add(100, 2, root_a);
  CHECK(worker.pins.pin(fresh, root_a, 5 * minute, minute) == 2);
  CHECK(worker.pins.size() == 4);
  worker.index.evict(100);
  CHECK(worker.held(fresh) == 2);
  CHECK(worker.held(old) == 2);
  CHECK(worker.index.find(old[0]).has_value());
  // A chain longer than the quota keeps its beginning; one that would end sooner gets nothing.
  const auto longer = worker.add(200, 6, root_a);
  CHECK(worker.pins.pin(longer, root_a, 60 * minute, minute) == 4);
  const auto last = worker.add(300, 1, root_a);
  CHECK(worker.pins.pin(last, root_a, 5 * minute, 2 * minute) == 0);
  CHECK(worker.pins.size() == 4);
}

TEST_CASE("the root with the most pins makes room for others, whatever their time") {
  Worker worker(16, 4);
  worker.pins.pin(worker.add(0, 4, root_a), root_a, 60 * minute, 0);
  CHECK(worker.pins.pin(worker.add(100, 4, root_b), root_b, 5 * minute, 1) == 2);
  CHECK(worker.pins.pin(worker.add(200, 4, root_a), root_a, 5 * minute, 2) == 0);
  CHECK(worker.pins.size() == 4);
  CHECK(worker.pins.give_up(2) == 2);
  worker.index.evict(100);
  CHECK(worker.index.size() == 2);
  CHECK(worker.index.find(name_of(0)).has_value());
  CHECK(worker.pins.give_up(100) == 2);
  Worker none(4, 0);
  CHECK(none.pins.pin(none.add(0, 2, root_a), root_a, minute, 0) == 0);
}

TEST_CASE("whatever is pinned, used and given up, the pages add up") {
  std::mt19937 random(7);
  Worker worker(64, 16);
  std::vector<std::vector<BlockName>> chains;
  TimeUs now = 0;
  for (uint32_t round = 0; round < 2000; ++round) {
    now += random() % minute;
    const BlockName& root = random() % 3 == 0 ? root_b : root_a;
    const TimeUs ttl = (random() % 2 == 0 ? 5 : 60) * minute;
    const auto chain = worker.add(round * 100, 1 + random() % 8, root);
    if (random() % 2 == 0) {
      const uint32_t pinned = worker.pins.pin(chain, root, ttl, now);
      chains.emplace_back(chain.begin(), chain.begin() + pinned);
    }
    if (!chains.empty()) worker.pins.use(chains[random() % chains.size()], now);
    if (random() % 10 == 0) worker.pins.give_up(random() % 4);
    worker.pins.expire(now);
    REQUIRE(worker.pins.size() <= 16);
    REQUIRE(worker.pool.num_free() + worker.index.size() == 64);
    // A pin keeps the blocks before it as well, of which there are fewer than eight.
    REQUIRE(worker.index.size() - worker.index.num_evictable() <= 8 * worker.pins.size());
  }
  worker.pins.expire(now + 61 * minute);
  CHECK(worker.pins.size() == 0);
  CHECK(worker.index.num_evictable() == worker.index.size());
}
