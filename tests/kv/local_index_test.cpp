#include "kv/local_index.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>

#include "base/crc32c.hpp"

using namespace troupe;
using namespace troupe::kv;

namespace {

const KvLayout small_layout{1, 1, 2, 4, KvType::f32};

struct Worker {
  explicit Worker(uint32_t pages)
      : pool(*allocate_region(pages * small_layout.block_bytes()), small_layout),
        index(pool, events) {}

  Pool pool;
  EventLog events;
  LocalIndex index;
};

BlockName name_of(uint32_t value) {
  BlockName name;
  std::memcpy(name.bytes.data(), &value, sizeof value);
  return name;
}

/// Computes, indexes and gives up a chain first, first + 1, … below `root`.
std::vector<BlockName> add_chain(Worker& worker, uint32_t first, uint32_t count, BlockName root) {
  std::vector<BlockName> names;
  std::vector<PageId> pages;
  for (uint32_t i = 0; i < count; ++i) {
    const auto page = worker.pool.allocate();
    REQUIRE(page.has_value());
    worker.index.insert(name_of(first + i), i == 0 ? root : names.back(), *page);
    names.push_back(name_of(first + i));
    pages.push_back(*page);
  }
  for (const PageId page : pages) worker.pool.release(page);
  return names;
}

const BlockName root = name_of(0xffffffff);

}  // namespace

TEST_CASE("a pool hands out its pages once each and counts references") {
  Worker worker(3);
  Pool& pool = worker.pool;
  CHECK(pool.num_pages() == 3);
  const PageId a = *pool.allocate();
  const PageId b = *pool.allocate();
  const PageId c = *pool.allocate();
  CHECK(a == 0);
  CHECK(b == 1);
  CHECK(c == 2);
  CHECK_FALSE(pool.allocate().has_value());
  pool.retain(b);
  pool.release(b);
  CHECK(pool.num_free() == 0);
  pool.release(b);
  CHECK(pool.num_free() == 1);
  CHECK(*pool.allocate() == b);
  CHECK(pool.page(c) - pool.page(a) == static_cast<std::ptrdiff_t>(2 * small_layout.block_bytes()));
}

TEST_CASE("match returns the longest prefix, holds its pages and stops at the first hole") {
  Worker worker(8);
  const auto names = add_chain(worker, 1, 4, root);
  CHECK(worker.index.num_evictable() == 4);
  const std::vector<BlockName> asked = {names[0], names[1], name_of(77), names[3]};
  const auto blocks = worker.index.match(asked);
  REQUIRE(blocks.size() == 2);
  CHECK(worker.pool.references(blocks[1].page) == 2);
  CHECK(worker.index.num_evictable() == 2);
  CHECK(worker.index.evict(100) == 2);
  CHECK(worker.index.size() == 2);
  for (const auto& block : blocks) worker.pool.release(block.page);
  CHECK(worker.index.num_evictable() == 2);
}

TEST_CASE("insert takes the checksum, keeps the earlier page and tells it once") {
  Worker worker(4);
  const PageId first = *worker.pool.allocate();
  std::fill_n(worker.pool.page(first), small_layout.block_bytes(), std::byte{7});
  const auto entry = worker.index.insert(name_of(1), root, first);
  CHECK(entry.page == first);
  CHECK(entry.checksum == crc32c({worker.pool.page(first), small_layout.block_bytes()}));
  const PageId second = *worker.pool.allocate();
  CHECK(worker.index.insert(name_of(1), root, second).page == first);
  CHECK(worker.pool.references(second) == 1);
  CHECK(worker.events.last_number() == 1);
  CHECK(worker.index.find(name_of(1))->page == first);
  CHECK_FALSE(worker.index.find(root).has_value());
  CHECK(worker.index.match(std::vector{root}).empty());
}

TEST_CASE("the least recently used goes first, and children before their parents") {
  Worker worker(8);
  const auto old_chain = add_chain(worker, 10, 3, root);
  const auto new_chain = add_chain(worker, 20, 3, root);
  for (const auto& block : worker.index.match(old_chain)) worker.pool.release(block.page);
  CHECK(worker.index.evict(2) == 2);
  CHECK(worker.index.find(new_chain[0]).has_value());
  CHECK_FALSE(worker.index.find(new_chain[1]).has_value());
  CHECK(worker.index.evict(2) == 2);
  CHECK_FALSE(worker.index.find(new_chain[0]).has_value());
  CHECK(worker.index.find(old_chain[1]).has_value());
  CHECK_FALSE(worker.index.find(old_chain[2]).has_value());
  worker.index.clear();
  CHECK(worker.index.size() == 0);
  CHECK(worker.pool.num_free() == 8);
}

TEST_CASE("a parent whose child is in use can't be evicted, although nobody holds it") {
  Worker worker(8);
  const auto names = add_chain(worker, 1, 3, root);
  const PageId leaf = worker.index.find(names[2])->page;
  worker.pool.retain(leaf);
  CHECK(worker.index.num_evictable() == 0);
  CHECK(worker.index.evict(8) == 0);
  worker.pool.release(leaf);
  CHECK(worker.index.num_evictable() == 3);
}

TEST_CASE("a child that came before its parent is joined to it later") {
  Worker worker(4);
  const PageId child = *worker.pool.allocate();
  worker.index.insert(name_of(2), name_of(1), child);
  CHECK(worker.index.match(std::vector{name_of(1), name_of(2)}).empty());
  const PageId parent = *worker.pool.allocate();
  worker.index.insert(name_of(1), root, parent);
  worker.pool.release(parent);
  CHECK(worker.index.num_evictable() == 0);
  worker.pool.release(child);
  CHECK(worker.index.num_evictable() == 2);
  CHECK(worker.index.evict(1) == 1);
  CHECK(worker.index.find(name_of(1)).has_value());
}

TEST_CASE("events tell a subscriber the same set as names()") {
  Worker worker(16);
  add_chain(worker, 1, 5, root);
  add_chain(worker, 10, 5, name_of(2));
  worker.index.evict(4);
  std::map<BlockName, bool> told;
  const auto events = worker.events.since(0, 1000);
  REQUIRE(events.has_value());
  for (const Event& event : *events) told[event.name] = event.stored;
  std::erase_if(told, [](const auto& entry) { return !entry.second; });
  auto names = worker.index.names();
  std::sort(names.begin(), names.end());
  REQUIRE(names.size() == told.size());
  CHECK(std::equal(names.begin(), names.end(), told.begin(),
                   [](const BlockName& a, const auto& b) { return a == b.first; }));
}

TEST_CASE("num_evictable is exact under a random load") {
  Worker worker(64);
  std::mt19937 engine(5);
  const auto random = [&engine] { return static_cast<uint32_t>(engine()); };
  std::vector<std::vector<PageId>> running;
  for (int step = 0; step < 4000; ++step) {
    const bool start = running.size() < 6 && random() % 2 == 0;
    if (start) {
      std::vector<BlockName> names;
      uint32_t path = 1;
      for (uint32_t depth = 0; depth < 1 + random() % 6; ++depth) {
        path = path * 3 + random() % 2;
        names.push_back(name_of(path));
      }
      std::vector<PageId> pages;
      for (const auto& block : worker.index.match(names)) pages.push_back(block.page);
      for (size_t i = pages.size(); i < names.size(); ++i) {
        if (worker.pool.num_free() == 0) worker.index.evict(1);
        const auto page = worker.pool.allocate();
        if (!page) break;
        worker.index.insert(names[i], i == 0 ? root : names[i - 1], *page);
        pages.push_back(*page);
      }
      running.push_back(pages);
    } else if (!running.empty()) {
      const size_t which = random() % running.size();
      std::shuffle(running[which].begin(), running[which].end(), engine);
      for (const PageId page : running[which]) worker.pool.release(page);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
    }
    if (step % 50 == 0) {
      const uint32_t promised = worker.index.num_evictable();
      REQUIRE(worker.index.evict(1000) == promised);
    }
  }
  for (const auto& pages : running) {
    for (const PageId page : pages) worker.pool.release(page);
  }
  CHECK(worker.index.num_evictable() == worker.index.size());
  CHECK(worker.index.size() + worker.pool.num_free() == 64);
  worker.index.clear();
  CHECK(worker.pool.num_free() == 64);
}

namespace {

/// The index's rules in their plainest form.
class PlainIndex {
 public:
  struct Block {
    BlockName parent;
    PageId page = no_page;
    uint64_t last_use = 0;
    bool shared = true;
  };

  void insert(const BlockName& name, const BlockName& parent, PageId page) {
    const auto found = blocks_.find(name);
    if (found == blocks_.end()) blocks_[name] = {parent, page, 0, true};
    blocks_[name].last_use = ++uses_;
  }
  void take(const BlockName& name) {
    blocks_.at(name).last_use = ++uses_;
    blocks_.at(name).shared = true;
  }
  void give_up(const BlockName& name) {
    blocks_.at(name).last_use = ++uses_;
    blocks_.at(name).shared = false;
  }
  /// The block that goes next, if any may.
  [[nodiscard]] std::optional<BlockName> oldest() const {
    std::optional<BlockName> oldest;
    for (const auto& [name, block] : blocks_) {
      const bool goes = !block.shared && children(name).empty();
      if (goes && (!oldest || block.last_use < blocks_.at(*oldest).last_use)) oldest = name;
    }
    return oldest;
  }
  [[nodiscard]] uint32_t num_evictable() const {
    return static_cast<uint32_t>(std::count_if(
        blocks_.begin(), blocks_.end(), [this](const auto& entry) { return !busy(entry.first); }));
  }
  void remove(const BlockName& name) { blocks_.erase(name); }
  [[nodiscard]] const std::map<BlockName, Block>& blocks() const { return blocks_; }

 private:
  [[nodiscard]] std::vector<BlockName> children(const BlockName& name) const {
    std::vector<BlockName> found;
    for (const auto& [child, block] : blocks_) {
      if (block.parent == name) found.push_back(child);
    }
    return found;
  }
  [[nodiscard]] bool busy(const BlockName& name) const {
    if (blocks_.at(name).shared) return true;
    const auto below = children(name);
    return std::any_of(below.begin(), below.end(), [this](const auto& c) { return busy(c); });
  }

  std::map<BlockName, Block> blocks_;
  uint64_t uses_ = 0;
};

}  // namespace

TEST_CASE("under random loads the index does what its plainest form does, in the same order") {
  // Numbers of uses end within the load of the second one.
  for (const uint32_t first_use : {0u, UINT32_MAX - 500}) {
    constexpr uint32_t num_pages = 40;
    Pool pool(*allocate_region(num_pages * small_layout.block_bytes()), small_layout);
    EventLog events;
    LocalIndex index(pool, events, first_use);
    PlainIndex plain;
    std::mt19937 engine(7 + first_use);
    const auto dice = [&engine] { return static_cast<uint32_t>(engine()); };
    std::map<BlockName, PageId> held;
    for (int step = 0; step < 6000; ++step) {
      // A tree with two children a node; its blocks come in any order, parents after children too.
      const uint32_t id = 1 + dice() % 60;
      const BlockName name = name_of(id), parent = id == 1 ? root : name_of(id / 2);
      const uint32_t what = dice() % 4;
      if (what == 0 && !plain.blocks().contains(name)) {
        const auto page = pool.allocate();
        if (page) {
          CHECK(index.insert(name, parent, *page).page == *page);
          plain.insert(name, parent, *page);
          held[name] = *page;
        }
      } else if (what == 1 && plain.blocks().contains(name) && !held.contains(name)) {
        const auto taken = index.match(std::vector{name});
        REQUIRE(taken.size() == 1);
        CHECK(taken[0].page == plain.blocks().at(name).page);
        plain.take(name);
        held[name] = taken[0].page;
      } else if (what == 2 && held.contains(name)) {
        pool.release(held[name]);
        held.erase(name);
        plain.give_up(name);
      } else if (what == 3 && dice() % 3 == 0) {
        const auto goes = plain.oldest();
        CHECK(index.evict(1) == (goes ? 1 : 0));
        if (goes) {
          CHECK_FALSE(index.find(*goes).has_value());
          plain.remove(*goes);
        }
      }
      REQUIRE(index.size() == plain.blocks().size());
      REQUIRE(index.num_evictable() == plain.num_evictable());
      REQUIRE(index.find(name).has_value() == plain.blocks().contains(name));
      if (index.find(name)) CHECK(*index.parent(name) == parent);
    }
    for (const auto& [name, page] : held) pool.release(page);
    index.clear();
    CHECK(pool.num_free() == num_pages);
  }
}

TEST_CASE("the event log keeps the newest and says when a snapshot is needed") {
  EventLog log(3);
  for (uint32_t i = 1; i <= 5; ++i) log.append(true, Tier::device, name_of(i));
  CHECK(log.last_number() == 5);
  CHECK(log.since(5, 10)->empty());
  REQUIRE(log.since(2, 10).has_value());
  CHECK(log.since(2, 10)->size() == 3);
  CHECK(log.since(2, 10)->front().number == 3);
  CHECK(log.since(3, 1)->size() == 1);
  CHECK_FALSE(log.since(1, 10).has_value());
  CHECK_FALSE(log.since(6, 10).has_value());
}
