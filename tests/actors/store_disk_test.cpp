// A store with a disk between workers: what leaves memory or the process comes back from it, and
// whatever the disk does, the answers are the same.
#include <doctest/doctest.h>

#include "tests/actors/stored_answer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr uint64_t large_disk = 64u << 20;

struct DiskWorld : TwoWorkers {
  explicit DiskWorld(uint32_t seed = 0, size_t memory_blocks = 256, WorkerSpec spec = {})
      : TwoWorkers(seed, spec), memory(memory_blocks * block_bytes) {
    add_disk_store(memory, disk, large_disk);
  }
  void restart_store() {
    kill_store();
    add_disk_store(memory, disk, large_disk);
  }
  v1::StoreReport report() const { return store->logic.report(); }

  size_t memory;
  SimDisk disk;
};

/// "b" has begun to read six blocks that lie on disk alone, and so many things have happened.
WorldClient& begin_read(DiskWorld& world, const WorldRequest& request, int events) {
  world.ask("a", request);
  world.restart_store();
  world.fetch_blocks = 6;
  WorldClient& client = world.add_client(request);
  world.start(client, "b");
  for (int i = 0; i < events && world.step(); ++i) {
  }
  return client;
}

}  // namespace

TEST_CASE("disk: a store that was killed gives out what it had, in every order of events") {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const WorldRequest request = request_of(300 + seed, seed);
    DiskWorld world(seed);
    check_plain(world.ask("a", request), request);
    const uint32_t blocks = world.store->held();
    CHECK(world.report().disk_blocks() == blocks);
    CHECK(world.report().disk_waiting() == 0);
    world.restart_store();
    // It says so before anybody offered anything.
    CHECK(world.store->logic.residences().size() == blocks);
    CHECK(world.store->logic.events().last_number() == blocks);
    const WorldClient& client = world.ask("b", request, 4);
    check_plain(client, request);
    CHECK(client.resume.stats().cached_tokens() == 4 * 64);
    CHECK(client.resume.stats().blocks_moved() == 4);
    CHECK(world.report().disk_read() == 4);
    CHECK(world.report().hits() == 4);
    world.check_all_free();
  }
}

TEST_CASE("disk: what memory has no room for is read from disk, whatever it pushes out") {
  DiskWorld world(0, 8);
  std::vector<WorldRequest> requests;
  for (uint32_t seed = 1; seed < 8; ++seed) requests.push_back(request_of(330, seed));
  for (const WorldRequest& request : requests) check_plain(world.ask("a", request), request);
  CHECK(world.report().disk_blocks() > 20);
  uint64_t cached = 0;
  for (const WorldRequest& request : requests) {
    const WorldClient& client = world.ask("b", request, 5);
    check_plain(client, request);
    cached += client.resume.stats().cached_tokens();
    world.check_all_free();
  }
  CHECK(cached > 5 * 5 * 64);
  CHECK(world.report().disk_read() > 20);
  CHECK(world.report().disk_failed() == 0);
}

TEST_CASE("disk: two who ask for the same at once wait for the same reads") {
  const WorldRequest request = request_of(600);
  DiskWorld world;
  world.ask("a", request);
  world.restart_store();
  world.add_worker("c").logic.offers().set_store(store_key);
  world.fetch_blocks = 9;
  WorldClient& one = world.add_client(request);
  WorldClient& two = world.add_client(request);
  world.disk_stands = true;
  world.start(one, "b");
  world.start(two, "c");
  world.deliver_mail();
  world.disk_goes_on();
  world.run();
  for (const WorldClient* client : {&one, &two}) {
    check_plain(*client, request);
    CHECK(client->resume.stats().cached_tokens() == 9 * 64);
  }
  CHECK(world.report().disk_read() == 9);
  CHECK(world.report().hits() == 18);
  world.check_all_free();
}

TEST_CASE("disk: damaged blocks are misses, counted and forgotten, and written again") {
  const WorldRequest request = request_of(600);
  DiskWorld world;
  world.ask("a", request);
  const uint32_t blocks = world.report().disk_blocks();
  world.restart_store();
  world.disk.damage_all();
  const WorldClient& client = world.ask("b", request, 9);
  check_plain(client, request);
  CHECK(client.resume.stats().cached_tokens() == 0);
  CHECK(world.report().disk_corrupt() == 9);
  world.check_all_free();
  world.restart_store();
  world.add_worker("c").logic.offers().set_store(store_key);
  const WorldClient& again = world.ask("c", request, 9);
  check_plain(again, request);
  CHECK(again.resume.stats().cached_tokens() == 9 * 64);
  CHECK(world.report().disk_blocks() >= blocks);
}

TEST_CASE("disk: a read that fails ends what is read, the rest is computed") {
  const WorldRequest request = request_of(600);
  for (uint32_t bad = 0; bad < 9; ++bad) {
    DiskWorld world;
    world.ask("a", request);
    world.restart_store();
    uint32_t reads = 0;
    world.disk.fault = [&](const kv::DiskJob& job) -> Status {
      if (job.kind == kv::DiskJob::Kind::read && reads++ == bad) {
        return error(Code::unavailable, "input/output error");
      }
      return {};
    };
    check_plain(world.ask("b", request, 9), request);
    CHECK(world.report().disk_failed() == 1);
    world.check_all_free();
  }
}

TEST_CASE("disk: a full disk costs what does not fit on it; later it is written after all") {
  const WorldRequest request = request_of(600);
  DiskWorld world;
  bool is_full = true;
  world.disk.fault = [&](const kv::DiskJob& job) -> Status {
    const bool writes = job.kind == kv::DiskJob::Kind::write;
    if (writes && is_full) return error(Code::exhausted, "no space left on device");
    return {};
  };
  check_plain(world.ask("a", request), request);
  CHECK(world.report().disk_blocks() == 0);
  CHECK(world.report().disk_failed() > 0);
  const WorldClient& client = world.ask("b", request, 9);
  check_plain(client, request);
  CHECK(client.resume.stats().cached_tokens() == 9 * 64);
  is_full = false;
  for (int i = 0; i < 12; ++i) {
    world.tick(1'000'000);
    world.run();
  }
  CHECK(world.report().disk_blocks() == world.store->held());
  world.check_all_free();
}

TEST_CASE("disk: one that stands still holds nobody up for long, and nothing leaks") {
  const WorldRequest request = request_of(600);
  DiskWorld world;
  world.ask("a", request);
  world.restart_store();
  world.disk_stands = true;
  world.fetch_blocks = 9;
  WorldClient& client = world.add_client(request);
  world.start(client, "b");
  world.run();
  // It is told that it is not forgotten, so it does not give up before the store does.
  for (int i = 0; i < 40 && !client.resume.all_finished(); ++i) {
    world.tick(250'000);
    world.run();
  }
  check_plain(client, request);
  CHECK(client.resume.stats().cached_tokens() == 0);
  CHECK(world.report().blocks_arriving() == 9);
  world.disk_goes_on();
  world.run();
  world.tick(actors::limits::store_lease_us);
  world.run();
  world.check_all_free();
  CHECK(world.store->held() >= 9);
}

TEST_CASE("disk: whatever happens to the store, at every event of a read from disk") {
  const WorldRequest request = request_of(400);
  for (const bool restarts : {false, true}) {
    for (int events = 0; events < 60; ++events) {
      DiskWorld world;
      WorldClient& client = begin_read(world, request, events);
      world.kill_store();
      if (restarts) world.add_disk_store(world.memory, world.disk, large_disk);
      world.run();
      for (int i = 0; i < 8; ++i) {
        world.tick(1'000'000);
        world.run();
      }
      check_plain(client, request);
      world.check_all_free();
    }
  }
}

TEST_CASE("disk: a reader may go, or be cancelled, at every event of a read from disk") {
  const WorldRequest request = request_of(400);
  for (const bool dies : {false, true}) {
    for (int events = 0; events < 60; ++events) {
      DiskWorld world;
      WorldClient& client = begin_read(world, request, events);
      if (dies) {
        world.kill("b");
      } else {
        world.cancel(client, "b");
      }
      world.run();
      world.tick(60'000'000);
      world.run();
      world.check_all_free();
    }
  }
}

TEST_CASE("disk: other weights, layouts or numerics never match what lies there") {
  const WorldRequest request = request_of(600);
  DiskWorld world;
  world.ask("a", request);
  world.restart_store();
  WorkerSpec other;
  other.fingerprint = std::string(32, 'g');
  world.add_worker("other", other).logic.offers().set_store(store_key);
  SUBCASE("asked by somebody else first, it has nothing") {
    const WorldClient& client = world.ask("other", request, 9);
    check_plain(client, request);
    CHECK(client.resume.stats().cached_tokens() == 0);
    // It keeps the blocks of who came first; what lay there before is not offered any more.
    CHECK(world.report().blocks() > 0);
    for (const kv::Residence& residence : world.store->logic.residences()) {
      CHECK(world.store->logic.blocks()->contains(residence.name));
    }
    const WorldClient& late = world.ask("b", request, 9);
    check_plain(late, request);
    CHECK(late.resume.stats().cached_tokens() == 0);
  }
  SUBCASE("asked by the right one first, it refuses the other") {
    CHECK(world.ask("b", request, 9).resume.stats().cached_tokens() == 9 * 64);
    const WorldClient& client = world.ask("other", request, 9);
    check_plain(client, request);
    CHECK(client.resume.stats().cached_tokens() == 0);
  }
  world.check_all_free();
}

TEST_CASE("disk: one tenant never gets another's blocks") {
  const WorldRequest request = request_of(600);
  WorldRequest other = request;
  other.salt = "another tenant";
  DiskWorld world;
  world.ask("a", request);
  world.restart_store();
  const WorldClient& client = world.ask("b", other, 9);
  check_plain(client, other);
  CHECK(client.resume.stats().cached_tokens() == 0);
  CHECK(world.report().disk_read() == 0);
  world.restart_store();
  world.add_worker("c").logic.offers().set_store(store_key);
  CHECK(world.ask("c", other, 9).resume.stats().cached_tokens() == 9 * 64);
  world.check_all_free();
}

TEST_CASE("disk: what a store that stops has in memory is written out") {
  DiskWorld world;
  world.disk_stands = true;
  const WorldRequest request = request_of(2000);
  world.ask("a", request);
  const uint32_t held = world.store->held();
  CHECK(held >= 31);
  CHECK(world.disk.num_blocks() == 0);
  world.store->logic.begin_flush(world.now);
  CHECK_FALSE(world.store->logic.is_flushed());
  world.disk_goes_on();
  world.run();
  CHECK(world.store->logic.is_flushed());
  CHECK(world.disk.num_blocks() == held);
  // Nothing more is taken in; what is here is still given out.
  const WorldRequest other = request_of(300, 77);
  check_plain(world.ask("a", other), other);
  CHECK(world.disk.num_blocks() == held);
  CHECK(world.ask("b", request, 31).resume.stats().cached_tokens() == 31 * 64);
  world.restart_store();
  world.add_worker("c").logic.offers().set_store(store_key);
  CHECK(world.ask("c", request, 31).resume.stats().cached_tokens() == 31 * 64);
  world.check_all_free();
}

TEST_CASE("disk: events say of both tiers exactly what is there") {
  DiskWorld world(0, 20);
  for (uint32_t seed = 1; seed < 12; ++seed) {
    world.ask(seed % 2 == 0 ? "a" : "b", request_of(300, seed), seed % 3 == 0 ? 4 : 0);
  }
  std::set<std::pair<kv::Tier, kv::BlockName>> said, held;
  const auto events = world.store->logic.events().since(0, 100000);
  REQUIRE(events.has_value());
  for (const kv::Event& event : *events) {
    const std::pair where(event.tier, event.name);
    CHECK((event.stored ? said.insert(where).second : said.erase(where) == 1));
  }
  for (const kv::Residence& residence : world.store->logic.residences()) {
    CHECK(held.emplace(residence.tier, residence.name).second);
  }
  CHECK(said == held);
  CHECK(world.report().evicted() > 0);
}
