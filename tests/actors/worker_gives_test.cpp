// A worker gives the blocks that it has to another that names them: the same answer, whatever
// becomes of the giver.
#include <doctest/doctest.h>

#include "tests/actors/stored_answer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

struct GivingWorld : TwoWorkers {
  explicit GivingWorld(uint32_t seed = 0, const WorkerSpec& spec = {}) : TwoWorkers(seed, spec) {
    fetch_from = "a";
  }
  /// The first worker answers, then so much happens of the second one's reading from it.
  WorldClient& begin_read(const WorldRequest& request, int events) {
    ask("a", request);
    fetch_blocks = 9;
    WorldClient& client = add_client(request);
    start(client, "b");
    for (int i = 0; i < events; ++i) step();
    return client;
  }
};

}  // namespace

TEST_CASE("what one worker computed another reads from it, in every order of events") {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const WorldRequest request = request_of(300 + seed, seed);
    GivingWorld world(seed);
    check_plain(world.ask("a", request), request);
    const WorldClient& client = world.ask("b", request, 4);
    check_read(world, client, request, 4);
    world.check_all_free();
  }
}

TEST_CASE("several readers at once, and one that draws several answers, read the same pages") {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    WorldRequest request = request_of(700, seed);
    request.choices = 3;
    GivingWorld world(seed);
    world.add_worker("c");
    world.ask("a", request);
    world.fetch_blocks = 10;
    std::vector<WorldClient*> clients;
    for (const char* name : {"b", "c", "b"}) {
      clients.push_back(&world.add_client(request));
      world.start(*clients.back(), name);
    }
    world.run();
    for (const WorldClient* client : clients) check_plain(*client, request);
    CHECK(world.worker("c").logic.load(0).blocks_fetched() == 10);
    world.check_all_free();
  }
}

TEST_CASE("a giver that has less than the router believed, or nothing, costs the question") {
  const WorldRequest request = request_of(600);
  GivingWorld world;
  uint32_t expected = 0;
  SUBCASE("nothing at all") {}
  SUBCASE("a beginning") {
    WorldRequest branch = request;
    branch.prompt[400] ^= 1;
    world.ask("a", branch);
    expected = 6;
  }
  SUBCASE("it drains, and gives all the same") {
    world.ask("a", request);
    world.worker("a").logic.drain();
    expected = 9;
  }
  SUBCASE("it shuts down") {
    world.ask("a", request);
    world.worker("a").logic.close(false);
  }
  const WorldClient& client = world.ask("b", request, 9);
  check_plain(client, request);
  CHECK(client.resume.stats().cached_tokens() == expected * 64);
  world.check_all_free();
}

TEST_CASE("a giver that dies at any moment leaves the rest to be computed") {
  const WorldRequest request = request_of(600);
  for (int steps = 0; steps < 40; ++steps) {
    GivingWorld world(static_cast<uint32_t>(steps + 1));
    WorldClient& client = world.begin_read(request, steps);
    world.kill("a");
    world.run();
    check_plain(client, request);
    world.check_all_free();
  }
}

TEST_CASE("a reader that dies, or does not want the answer any more, leaves no page pinned") {
  const WorldRequest request = request_of(600);
  for (int steps = 0; steps < 30; ++steps) {
    for (const bool dies : {true, false}) {
      GivingWorld world(static_cast<uint32_t>(steps + 1));
      WorldClient& client = world.begin_read(request, steps);
      if (dies) {
        world.kill("b");
      } else {
        world.cancel(client, "b");
      }
      world.run();
      // An attach that arrives from the dead is noticed when its lease ends.
      if (dies) world.tick(transport::limits::lease_us + 1);
      world.check_all_free();
    }
  }
}

TEST_CASE("a block that is damaged on its way is counted and computed") {
  const WorldRequest request = request_of(600);
  GivingWorld world;
  world.ask("a", request);
  world.read_fault = [](uint32_t block) { return block == 3; };
  check_plain(world.ask("b", request, 9), request);
  CHECK(world.worker("b").logic.load(0).blocks_corrupt() == 1);
  world.check_all_free();
}

TEST_CASE("a reader that says nothing any more loses its pins after the lease") {
  const WorldRequest request = request_of(600);
  GivingWorld world;
  world.ask("a", request);
  v1::Attach attach;
  attach.set_session(77);
  attach.set_kv_fingerprint(std::string(32, 'f'));
  std::vector<kv::BlockName> names = world.worker("a").blocks.names();
  auto& giver = world.worker("a");
  size_t given = 0;
  for (const kv::BlockName& name : names) {
    attach.set_names(schemas::pack_names(std::vector{name}));
    attach.set_session(attach.session() + 1);
    given +=
        giver.logic.on_attach(world.worker("b").index, attach, world.now).has_failure() ? 0 : 1;
  }
  CHECK(given == names.size());
  CHECK(giver.logic.load(0).sessions() == given);
  CHECK(giver.logic.on_attach(world.worker("b").index, attach, world.now).failure().code() != 0);
  world.run();
  world.tick(transport::limits::lease_us + 1);
  CHECK(giver.logic.load(0).sessions() == 0);
  attach.set_names("half a name");
  attach.set_session(500);
  CHECK(giver.logic.on_attach(world.worker("b").index, attach, world.now).has_failure());
  world.check_all_free();
}
