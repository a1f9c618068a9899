// A store between workers: what one computed another reads, whatever becomes of the store.
#include <doctest/doctest.h>

#include "tests/actors/stored_answer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

struct StoreWorld : TwoWorkers {
  explicit StoreWorld(uint32_t seed = 0, size_t store_blocks = 256, WorkerSpec spec = {})
      : TwoWorkers(seed, spec) {
    add_store(store_blocks * block_bytes);
  }
};

}  // namespace

TEST_CASE("what one worker computed another reads from the store, in every order of events") {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const WorldRequest request = request_of(300 + seed, seed);
    StoreWorld world(seed);
    check_plain(world.ask("a", request), request);
    // The prompt's four full blocks, and the fifth when the output filled it.
    CHECK(world.store->held() == (request.prompt.size() + request.max_tokens - 1) / 64);
    const WorldClient& client = world.ask("b", request, 4);
    check_read(world, client, request, 4);
    CHECK(world.worker("b").logic.load(0).fetch_bytes_per_us() > 0);
    CHECK(world.store->logic.report().hits() == 4);
    world.check_all_free();
  }
}

TEST_CASE("blocks outlive the worker that made them") {
  const WorldRequest request = request_of(500);
  StoreWorld world;
  world.ask("a", request);
  world.kill("a");
  world.run();
  const WorldClient& client = world.ask("b", request, 7);
  check_plain(client, request);
  CHECK(client.resume.stats().cached_tokens() == 7 * 64);
  world.check_all_free();
}

TEST_CASE("only what the worker lacks is read, and all choices use it") {
  const WorldRequest first = request_of(200);
  WorldRequest longer = request_of(200);
  longer.choices = 3;
  const auto more = sim_tokens(300, 99, 256);
  longer.prompt.insert(longer.prompt.end(), more.begin(), more.end());
  StoreWorld world;
  world.ask("a", longer);
  world.ask("b", first);
  const WorldClient& client = world.ask("b", longer, 7);
  check_plain(client, longer);
  CHECK(client.resume.stats().blocks_moved() == 7 - 3);
  CHECK(client.resume.stats().cached_tokens() == 7 * 64);
  world.check_all_free();
}

TEST_CASE("a prefill worker reads the beginning from the store and computes the rest") {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    const WorldRequest first = request_of(300);
    WorldRequest longer = first;
    const auto more = sim_tokens(300, 98, 256);
    longer.prompt.insert(longer.prompt.end(), more.begin(), more.end());
    StoreWorld world(seed);
    world.add_worker("c").logic.offers().set_store(store_key);
    world.ask("a", first);
    world.fetch_blocks = 4;
    WorldClient& client = world.add_client(longer);
    world.start(client, "c", "b");
    world.run();
    check_plain(client, longer);
    CHECK(world.worker("b").engine.stats().prefill_tokens == 9 * 64 - 4 * 64);
    CHECK(client.resume.stats().blocks_moved() == 9);
    CHECK(client.resume.stats().cached_tokens() == 4 * 64);
    world.check_all_free();
  }
}

TEST_CASE("a store that knows less than the router believed costs nothing but the question") {
  const WorldRequest request = request_of(600);
  StoreWorld world;
  SUBCASE("nothing at all") {
    check_plain(world.ask("b", request, 9), request);
    CHECK(world.clients.back()->resume.stats().cached_tokens() == 0);
  }
  SUBCASE("a beginning") {
    world.ask("a", request_of(600));
    // Another prompt with the same beginning.
    WorldRequest branch = request;
    branch.prompt[400] ^= 1;
    const WorldClient& client = world.ask("b", branch, 9);
    check_plain(client, branch);
    CHECK(client.resume.stats().cached_tokens() == 6 * 64);
  }
  world.check_all_free();
}

TEST_CASE("a damaged block is computed, named and forgotten, and the answer is the same") {
  const WorldRequest request = request_of(600);
  for (uint32_t bad = 0; bad < 9; ++bad) {
    StoreWorld world;
    world.ask("a", request);
    REQUIRE(world.store->held() == 9);
    world.store->page(bad)[17] ^= std::byte{8};
    check_plain(world.ask("b", request, 9), request);
    CHECK(world.worker("b").logic.load(0).blocks_corrupt() == 1);
    CHECK(world.store->logic.report().corrupt() == 1);
    // The worker computed it, so it was offered again.
    CHECK(world.store->held() == 9);
    world.add_worker("c");
    const WorldClient& client = world.ask("c", request, 9);
    check_plain(client, request);
    CHECK(client.resume.stats().cached_tokens() == 9 * 64);
    world.check_all_free();
  }
}

TEST_CASE("whatever becomes of the store, at every event, the answer is the same") {
  const WorldRequest request = request_of(400);
  for (const bool stops : {false, true}) {
    for (int events = 0; events < 40; ++events) {
      StoreWorld world;
      world.ask("a", request);
      world.fetch_blocks = 6;
      WorldClient& client = world.add_client(request);
      world.start(client, "b");
      for (int i = 0; i < events && world.step(); ++i) {
      }
      if (stops) {
        world.store->stopped = true;
      } else {
        world.kill_store();
      }
      world.run();
      for (int i = 0; i < 8; ++i) {
        world.tick(1'000'000);
        world.run();
      }
      check_plain(client, request);
      for (const auto& worker : world.workers) worker->check_all_free();
      if (!stops) continue;
      world.wake_store();
      world.run();
      world.tick(actors::limits::store_lease_us);
      world.run();
      world.check_all_free();
    }
  }
}

TEST_CASE("the worker may go at every event while the store reads from it, or it from the store") {
  const WorldRequest request = request_of(400);
  for (int events = 0; events < 60; ++events) {
    StoreWorld world;
    world.start(world.add_client(request), "a");
    for (int i = 0; i < events && world.step(); ++i) {
    }
    world.kill("a");
    world.run();
    world.check_all_free();
    const uint32_t held = world.store->held();
    const WorldClient& client = world.ask("b", request, 6);
    check_plain(client, request);
    CHECK(client.resume.stats().cached_tokens() <= held * 64);
    world.check_all_free();
  }
}

TEST_CASE("cancel gives every page back, at every event of a fetch") {
  for (const bool split : {false, true}) {
    bool ended = false;
    for (int events = 0; !ended; ++events) {
      REQUIRE(events < 500);
      WorldRequest request = request_of(400);
      request.max_tokens = 6;
      request.choices = 2;
      StoreWorld world;
      world.add_worker("c").logic.offers().set_store(store_key);
      world.ask("a", request);
      world.fetch_blocks = 5;
      WorldClient& client = world.add_client(request);
      world.start(client, "b", split ? "c" : "");
      for (int i = 0; i < events && !ended; ++i) ended = !world.step();
      world.cancel(client, "b");
      world.run();
      world.tick(60'000'000);
      world.run();
      world.check_all_free();
    }
  }
}

TEST_CASE("a store that is full, or too small for one block, refuses and serving goes on") {
  const WorldRequest request = request_of(600);
  StoreWorld small(0, 3);
  check_plain(small.ask("a", request), request);
  CHECK(small.store->held() == 3);
  check_plain(small.ask("b", request, 3), request);
  small.check_all_free();
  StoreWorld none(0, 1);
  none.add_store(block_bytes / 2);
  check_plain(none.ask("a", request), request);
  CHECK(none.store->held() == 0);
  none.check_all_free();
}

TEST_CASE("pages that wait for a store are given to whoever needs them") {
  WorkerSpec tight;
  tight.pages = 12;
  StoreWorld world(0, 256, tight);
  world.store->stopped = true;
  // Each needs nearly the whole pool; the offers of the one before must not hold it up.
  for (uint32_t seed = 1; seed < 6; ++seed) {
    const WorldRequest request = request_of(650, seed);
    check_plain(world.ask("a", request), request);
  }
}

TEST_CASE("events and snapshots of a store say exactly what it holds") {
  StoreWorld world(0, 20);
  for (uint32_t seed = 1; seed < 12; ++seed)
    world.ask(seed % 2 == 0 ? "a" : "b", request_of(300, seed));
  std::set<kv::BlockName> said;
  const auto events = world.store->logic.events().since(0, 100000);
  REQUIRE(events.has_value());
  for (const kv::Event& event : *events) {
    CHECK(event.tier == kv::Tier::host);
    CHECK((event.stored ? said.insert(event.name).second : said.erase(event.name) == 1));
  }
  std::set<kv::BlockName> held;
  for (const kv::Residence& residence : world.store->logic.residences()) {
    held.insert(residence.name);
  }
  CHECK(said == held);
  CHECK(said.size() == 20);
  CHECK(world.store->logic.report().evicted() > 0);
}

TEST_CASE("nonsense offers and questions are refused with a word of what is wrong") {
  StoreWorld world;
  world.ask("a", request_of(200));
  actors::StoreLogic& store = world.store->logic;
  const auto refusal = [&](const v1::Offer& offer) {
    const v1::OfferReply reply = store.on_offer(0, offer, world.now);
    REQUIRE(schemas::failed(reply.failure()));
    return schemas::from_wire(reply.failure()).what;
  };
  v1::Offer offer;
  offer.set_session(900);
  offer.set_block_bytes(block_bytes);
  CHECK(refusal(offer).find("fingerprint of 0 bytes") != std::string::npos);
  offer.set_kv_fingerprint(std::string(32, 'g'));
  const std::string differs = refusal(offer);
  CHECK(differs.find("6767676767676767") != std::string::npos);
  CHECK(differs.find("6666666666666666") != std::string::npos);
  offer.set_kv_fingerprint(std::string(32, 'f'));
  CHECK(refusal(offer).find("0 blocks") != std::string::npos);
  offer.add_blocks()->set_block_index(0);
  CHECK(refusal(offer).find("0 names") != std::string::npos);
  offer.set_names(std::string(17, 'x'));
  CHECK(refusal(offer).find("17 bytes") != std::string::npos);
  offer.set_names(std::string(16, 'x'));
  offer.set_parents(std::string(16, 'y'));
  offer.set_roots(std::string(16, 'z'));
  offer.mutable_blocks(0)->set_block_index(3);
  CHECK(refusal(offer).find("numbered 3") != std::string::npos);
  offer.mutable_blocks(0)->set_block_index(0);
  offer.set_block_bytes(block_bytes * 2);
  CHECK(refusal(offer).find("8192 bytes, this store keeps 4096") != std::string::npos);
  for (uint32_t i = 0; i < 40; ++i) offer.add_blocks();
  CHECK(refusal(offer).find("41 blocks") != std::string::npos);
  v1::Attach attach;
  attach.set_session(901);
  attach.set_kv_fingerprint(std::string(32, 'f'));
  CHECK(schemas::failed(store.on_attach(0, attach, world.now).failure()));
  attach.set_names(std::string(16 * (actors::limits::names_max + 1), 'x'));
  CHECK(schemas::failed(store.on_attach(0, attach, world.now).failure()));
  attach.set_names("short");
  CHECK(schemas::failed(store.on_attach(0, attach, world.now).failure()));
  world.check_all_free();
}
