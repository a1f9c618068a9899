#include "kv/block_store.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "base/crc32c.hpp"

using namespace troupe;
using namespace troupe::kv;

namespace {

constexpr size_t block_bytes = 64;

BlockName name_of(uint32_t value) {
  BlockName name;
  value *= 2654435761u;
  std::memcpy(name.bytes.data(), &value, sizeof value);
  return name;
}

const BlockName root = name_of(0xffff);

struct Fixture {
  explicit Fixture(uint32_t pages)
      : store(pages == 0 ? Region() : *allocate_region(pages * block_bytes), block_bytes, events) {}

  OfferedBlock block(uint32_t value, BlockName parent = root, uint8_t priority = 5) const {
    std::byte bytes[block_bytes];
    fill(bytes, value);
    return {name_of(value), parent, crc32c(bytes), priority};
  }
  static void fill(std::byte* page, uint32_t value) {
    for (size_t i = 0; i < block_bytes; ++i) page[i] = static_cast<std::byte>(value * 31 + i);
  }
  /// Offers and, if wanted, brings it.
  BlockStore::Verdict put(uint32_t value, BlockName parent = root, uint8_t priority = 5) {
    const auto answer = store.offer(block(value, parent, priority));
    if (answer.verdict != BlockStore::Verdict::wanted) return answer.verdict;
    fill(store.page(answer.page), value);
    store.arrived(answer.page);
    return answer.verdict;
  }
  /// first, first + 1, …, each the parent of the next.
  std::vector<BlockName> put_chain(uint32_t first, uint32_t count) {
    std::vector<BlockName> names;
    for (uint32_t i = 0; i < count; ++i) {
      put(first + i, i == 0 ? root : names.back());
      names.push_back(name_of(first + i));
    }
    return names;
  }
  std::vector<IndexedBlock> pin(uint64_t token, std::vector<BlockName> names, TimeUs until = 100) {
    return store.pin(token, names, until);
  }

  EventLog events;
  BlockStore store;
};

using Verdict = BlockStore::Verdict;

}  // namespace

TEST_CASE("a block that arrived is found, with its bytes and checksum, and said to be there") {
  Fixture f(4);
  const auto answer = f.store.offer(f.block(1));
  REQUIRE(answer.verdict == Verdict::wanted);
  CHECK_FALSE(f.store.contains(name_of(1)));
  CHECK(f.events.last_number() == 0);
  CHECK(f.pin(1, {name_of(1)}).empty());
  CHECK(f.store.offer(f.block(1)).verdict == Verdict::arriving);
  Fixture::fill(f.store.page(answer.page), 1);
  f.store.arrived(answer.page);
  CHECK(f.store.offer(f.block(1)).verdict == Verdict::held);
  const auto blocks = f.pin(2, {name_of(1), name_of(2)});
  REQUIRE(blocks.size() == 1);
  CHECK(crc32c({f.store.page(blocks[0].page), block_bytes}) == blocks[0].checksum);
  const auto events = f.events.since(0, 10);
  REQUIRE(events->size() == 1);
  CHECK(events->front().stored);
  CHECK(events->front().tier == Tier::host);
  CHECK(events->front().name == name_of(1));
  const BlockStoreStats stats = f.store.stats();
  CHECK(stats.hits == 1);
  CHECK(stats.misses == 2);
  CHECK(stats.stored == 1);
  CHECK(stats.held == 1);
  CHECK(stats.pinned == 1);
  CHECK(stats.free == 3);
}

TEST_CASE("a block that did not arrive leaves nothing behind") {
  Fixture f(2);
  const auto answer = f.store.offer(f.block(1));
  f.store.lost(answer.page);
  CHECK(f.store.stats().free == 2);
  CHECK(f.store.stats().lost == 1);
  CHECK(f.events.last_number() == 0);
  CHECK(f.put(1) == Verdict::wanted);
}

TEST_CASE("the least recently used block goes first, the end of a chain before its beginning") {
  Fixture f(4);
  const auto chain = f.put_chain(1, 4);
  CHECK(f.put(10) == Verdict::wanted);
  CHECK_FALSE(f.store.contains(chain[3]));
  CHECK(f.put(11) == Verdict::wanted);
  CHECK_FALSE(f.store.contains(chain[2]));
  CHECK(f.store.contains(chain[0]));
  // The beginning is used: the two newcomers are older now.
  f.pin(1, {chain[0], chain[1]});
  f.store.unpin(1);
  f.put(12);
  CHECK_FALSE(f.store.contains(name_of(10)));
  CHECK(f.store.contains(chain[1]));
  CHECK(f.store.stats().evicted == 3);
  const auto last = f.events.since(f.events.last_number() - 2, 2);
  CHECK_FALSE(last->at(0).stored);
  CHECK(last->at(0).name == name_of(10));
}

TEST_CASE("a beginning that is used by itself does not go with the end of a chain") {
  Fixture f(4);
  const auto chain = f.put_chain(1, 2);
  f.put(8);
  f.put(9);
  f.store.offer(f.block(1));  // held: it counts as used
  f.put(10, root);            // pushes the chain's end out
  CHECK_FALSE(f.store.contains(chain[1]));
  f.put(11, root);
  CHECK(f.store.contains(chain[0]));
  CHECK_FALSE(f.store.contains(name_of(8)));
}

TEST_CASE("lower priority goes first, and nothing goes for what has less") {
  Fixture f(3);
  f.put(1, root, 9);
  f.put(2, root, 2);
  f.put(3, root, 2);
  CHECK(f.put(4, root, 1) == Verdict::refused);
  CHECK(f.put(5, root, 6) == Verdict::wanted);
  CHECK_FALSE(f.store.contains(name_of(2)));
  CHECK(f.put(6, root, 200) == Verdict::wanted);
  CHECK_FALSE(f.store.contains(name_of(3)));
  CHECK(f.store.contains(name_of(1)));
  CHECK(f.store.stats().refused == 1);
}

TEST_CASE("what was seen once does not push out what is asked for again and again") {
  Fixture f(8);
  const auto loved = f.put_chain(1, 8);
  for (uint64_t round = 1; round <= 4; ++round) {
    CHECK(f.pin(round, loved).size() == 8);
    f.store.unpin(round);
  }
  for (uint32_t i = 0; i < 40; ++i) CHECK(f.put(100 + i) == Verdict::refused);
  CHECK(f.pin(99, loved).size() == 8);
  f.store.unpin(99);
  // Times change: what was loved is forgotten as others are seen more.
  uint32_t rounds = 0;
  while (f.put(500) == Verdict::refused && rounds < 200) ++rounds;
  CHECK(f.store.contains(name_of(500)));
}

TEST_CASE("pinned blocks stay until they are given back or their time is over") {
  Fixture f(3);
  const auto chain = f.put_chain(1, 3);
  CHECK(f.pin(7, chain, 50).size() == 3);
  CHECK(f.pin(8, {chain[0]}, 80).size() == 1);
  CHECK(f.pin(7, {chain[0]}).empty());
  for (uint32_t i = 0; i < 20; ++i) CHECK(f.put(10 + i) == Verdict::refused);
  CHECK(f.store.expire(49).empty());
  f.store.extend(7, 60);
  CHECK(f.store.expire(59).empty());
  CHECK(f.store.expire(60) == std::vector<uint64_t>{7});
  CHECK(f.store.stats().pinned == 1);
  CHECK(f.put(40) == Verdict::wanted);
  CHECK_FALSE(f.store.contains(chain[2]));
  f.store.unpin(8);
  f.store.unpin(8);
  CHECK(f.store.stats().pinned == 0);
}

TEST_CASE("a damaged block is taken out when a reader complains, and only then") {
  Fixture f(3);
  const auto chain = f.put_chain(1, 2);
  const auto blocks = f.pin(1, chain);
  CHECK_FALSE(f.store.recheck(1, blocks[0].page).has_value());
  f.store.page(blocks[0].page)[5] ^= std::byte{4};
  CHECK_FALSE(f.store.recheck(2, blocks[0].page).has_value());
  CHECK_FALSE(f.store.recheck(1, 2).has_value());
  const auto bad = f.store.recheck(1, blocks[0].page);
  REQUIRE(bad.has_value());
  CHECK(*bad == name_of(1));
  CHECK_FALSE(f.store.recheck(1, blocks[0].page).has_value());
  CHECK_FALSE(f.store.contains(chain[0]));
  CHECK(f.store.contains(chain[1]));
  CHECK(f.store.stats().corrupt == 1);
  CHECK(f.store.stats().free == 1);
  CHECK_FALSE(f.events.since(2, 1)->front().stored);
  // It may come again while the old page is still pinned.
  CHECK(f.put(1) == Verdict::wanted);
  f.store.unpin(1);
  CHECK(f.store.stats().free == 1);
  CHECK(f.pin(3, {name_of(1)}).size() == 1);
}

TEST_CASE("offers that name parents in circles keep nothing from being thrown out") {
  Fixture f(4);
  for (uint32_t round = 0; round < 20; ++round) {
    const uint32_t a = 2 * round, b = 2 * round + 1;
    f.put(a, name_of(b));
    f.put(b, name_of(a));
    f.put(a, name_of(a));
  }
  CHECK(f.store.contains(name_of(39)));
  CHECK(f.store.stats().held == 4);
  CHECK(f.store.stats().evicted == 36);
}

TEST_CASE("a store of no room refuses, and the index of a large one is small") {
  Fixture none(0);
  CHECK(none.put(1) == Verdict::refused);
  CHECK(none.pin(1, {name_of(1)}).empty());
  for (const uint32_t pages : {1000u, 4096u, 5000u}) {
    Fixture f(pages);
    CHECK(f.store.index_bytes() <= 64 * pages);
  }
}

TEST_CASE("a store finds each of a million blocks") {
  constexpr uint32_t count = 1 << 20;
  EventLog events;
  // The bytes are never touched, so the memory is never there.
  BlockStore store(*allocate_region(size_t{count} * block_bytes), block_bytes, events);
  std::vector<BlockName> names(count);
  for (uint32_t i = 0; i < count; ++i) {
    names[i] = name_of(i);
    names[i].bytes[15] = 1;
    store.arrived(store.offer({names[i], root, 0, 5}).page);
  }
  uint32_t found = 0;
  for (uint32_t i = 0; i < count; ++i) found += store.contains(names[(i * 7919u) % count]) ? 1 : 0;
  CHECK(found == count);
}
