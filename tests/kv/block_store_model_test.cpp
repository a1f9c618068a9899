// A BlockStore against a model that is too simple to be wrong, over random calls.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "base/crc32c.hpp"
#include "kv/block_store.hpp"

using namespace troupe;
using namespace troupe::kv;

namespace {

constexpr size_t block_bytes = 32;

struct Model {
  explicit Model(uint32_t seed, uint32_t pages)
      : random(seed),
        tenants(seed % 2 == 0 ? 0 : 1 + seed % 3),
        store(*allocate_region(pages * block_bytes), block_bytes, events) {}

  BlockName name_of(uint32_t value) const {
    BlockName name;
    value *= 2654435761u;
    std::memcpy(name.bytes.data(), &value, sizeof value);
    return name;
  }
  uint32_t some_value() { return static_cast<uint32_t>(random() % 40); }

  void offer() {
    const uint32_t value = some_value();
    // Mostly the chain 0, 1, 2, …; now and then any parent, itself and its children included.
    const uint32_t parent = random() % 8 == 0 ? some_value() : value - 1;
    const auto priority = static_cast<uint8_t>(random() % 3);
    const auto stats = store.stats();
    const BlockName root = tenants == 0 ? BlockName() : name_of(1000 + value % tenants);
    const auto answer = store.offer({name_of(value), name_of(parent), value, priority, root});
    using Verdict = BlockStore::Verdict;
    CHECK((answer.verdict == Verdict::held) == held.contains(value));
    const bool coming = std::ranges::any_of(arriving, [&](auto& e) { return e.second == value; });
    CHECK((answer.verdict == Verdict::arriving) == coming);
    if (answer.verdict == Verdict::refused) CHECK(stats.free == 0);
    if (answer.verdict != Verdict::wanted) return;
    CHECK_FALSE(arriving.contains(answer.page));
    CHECK_FALSE(pages_in_use().contains(answer.page));
    arriving[answer.page] = value;
    follow_events();
    CHECK(stats.evicted + (stats.free == 0 ? 1 : 0) == store.stats().evicted);
  }

  void end_arrival() {
    if (arriving.empty()) return;
    auto it = arriving.begin();
    std::advance(it, random() % arriving.size());
    const auto [page, value] = *it;
    arriving.erase(it);
    if (random() % 6 == 0) {
      store.lost(page);
      return;
    }
    std::memset(store.page(page), static_cast<int>(value), block_bytes);
    store.arrived(page);
    held[value] = page;
    follow_events();
  }

  void pin() {
    std::vector<BlockName> names;
    const uint32_t first = some_value();
    for (uint32_t i = 0; i < 1 + random() % 6; ++i) names.push_back(name_of(first + i));
    const uint64_t token = random() % 6;
    const auto blocks = store.pin(token, names, now + 1 + static_cast<TimeUs>(random() % 30));
    if (pins.contains(token)) {
      CHECK(blocks.empty());
      return;
    }
    uint32_t expected = 0;
    while (expected < names.size() && held.contains(first + expected)) ++expected;
    REQUIRE(blocks.size() == expected);
    for (uint32_t i = 0; i < expected; ++i) {
      CHECK(blocks[i].page == held.at(first + i));
      CHECK(blocks[i].checksum == first + i);
      pins[token].emplace(first + i, blocks[i].page);
    }
  }

  void unpin() {
    const uint64_t token = random() % 6;
    store.unpin(token);
    pins.erase(token);
  }

  void complain() {
    const uint64_t token = random() % 6;
    if (!pins.contains(token)) return;
    const auto [value, page] = *pins[token].begin();
    // Checksums here are just numbers, so each complaint is right.
    const auto bad = store.recheck(token, page);
    const auto now_held = held.find(value);
    const bool was_held = now_held != held.end() && now_held->second == page;
    CHECK(bad.has_value() == was_held);
    if (was_held) held.erase(value);
    follow_events();
  }

  void expire() {
    now += static_cast<TimeUs>(random() % 10);
    for (const uint64_t token : store.expire(now)) CHECK(pins.erase(token) == 1);
  }

  std::set<PageId> pages_in_use() const {
    std::set<PageId> pages;
    for (const auto& [token, blocks] : pins) {
      for (const auto& [value, page] : blocks) pages.insert(page);
    }
    return pages;
  }

  /// What events say is there must be what is there; nothing pinned may go unless it is damaged.
  void follow_events() {
    const auto events_since = events.since(last_event, 1000);
    for (const Event& event : *events_since) {
      last_event = event.number;
      CHECK(event.tier == Tier::host);
      if (event.stored) {
        CHECK(said.insert(event.name).second);
        continue;
      }
      CHECK(said.erase(event.name) == 1);
      for (auto it = held.begin(); it != held.end(); ++it) {
        if (name_of(it->first) != event.name) continue;
        CHECK_FALSE(pages_in_use().contains(it->second));
        held.erase(it);
        break;
      }
    }
  }

  void check() {
    const BlockStoreStats stats = store.stats();
    std::set<PageId> doomed = pages_in_use();
    for (const auto& [value, page] : held) doomed.erase(page);
    CHECK(stats.held == held.size());
    CHECK(stats.arriving == arriving.size());
    CHECK(stats.pinned == pages_in_use().size());
    CHECK(stats.free + stats.held + stats.arriving + doomed.size() == stats.total);
    const auto listed = store.names();
    CHECK(std::set<BlockName>(listed.begin(), listed.end()) == said);
    CHECK(listed.size() == held.size());
    for (uint32_t value = 0; value < 40; ++value) {
      CHECK(store.contains(name_of(value)) == held.contains(value));
    }
  }

  std::mt19937 random;
  uint32_t tenants;
  EventLog events;
  BlockStore store;
  TimeUs now = 0;
  uint64_t last_event = 0;
  std::set<BlockName> said;
  std::map<uint32_t, PageId> held;
  std::map<PageId, uint32_t> arriving;
  std::map<uint64_t, std::map<uint32_t, PageId>> pins;
};

}  // namespace

TEST_CASE("random offers, arrivals, pins and complaints: the store does what a simple model does") {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Model model(seed, 1 + seed % 24);
    for (int i = 0; i < 1500; ++i) {
      switch (model.random() % 8) {
        case 0:
        case 1:
        case 2:
          model.offer();
          break;
        case 3:
        case 4:
          model.end_arrival();
          break;
        case 5:
          model.pin();
          break;
        case 6:
          model.unpin();
          if (model.random() % 3 == 0) model.expire();
          break;
        default:
          if (model.random() % 4 == 0) model.complain();
      }
      if (i % 10 == 0) model.check();
    }
    while (!model.arriving.empty()) model.end_arrival();
    for (uint64_t token = 0; token < 6; ++token) model.store.unpin(token);
    model.pins.clear();
    model.check();
    CHECK(model.store.stats().pinned == 0);
  }
}
