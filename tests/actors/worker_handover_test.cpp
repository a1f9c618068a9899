// Prefill on one worker, decode on another: the same output bit for bit, whatever fails on the way.
#include <doctest/doctest.h>

#include "tests/actors/plain_answer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

WorldRequest request_of(size_t prompt_tokens, uint32_t seed = 3) {
  WorldRequest request;
  request.prompt = sim_tokens(prompt_tokens, seed, 256);
  return request;
}

struct Pair : WorkerWorld {
  explicit Pair(uint32_t seed = 0, WorkerSpec prefill = small_chunks(), WorkerSpec decode = {})
      : WorkerWorld(seed) {
    add_worker("p", std::move(prefill));
    add_worker("d", std::move(decode));
  }
  /// Several steps a prompt, so that blocks move while the next are computed.
  static WorkerSpec small_chunks() {
    WorkerSpec spec;
    spec.limits.chunk_tokens = 64;
    return spec;
  }
};

void check_ends_like_plain(WorkerWorld& world, const WorldClient& client,
                           const WorldRequest& request) {
  for (uint32_t i = 0; i < request.choices; ++i) {
    check_same(client.choice(i), plain_answer(request, i));
  }
  CHECK(client.failures.empty());
  world.check_all_free();
}

}  // namespace

TEST_CASE(
    "prefill and decode on two workers give what one worker gives, in every order of events") {
  for (uint32_t seed = 0; seed < 25; ++seed) {
    const WorldRequest request = request_of(300 + seed, seed);
    Pair world(seed);
    WorldClient& client = world.add_client(request);
    world.start(client, "d", "p");
    world.run();
    check_ends_like_plain(world, client, request);
    const v1::ChoiceStats& stats = client.resume.stats();
    CHECK(stats.blocks_moved() == request.prompt.size() / 64);
    CHECK(stats.bytes_moved() == stats.blocks_moved() * 4096);
    CHECK(stats.transport() == "shared_memory");
    CHECK(stats.cached_tokens() == 0);
    CHECK(world.worker("d").engine.stats().prefill_tokens < 64 + 1);
  }
}

TEST_CASE("a second request finds the blocks of the first and moves only what is new") {
  Pair world;
  WorldClient& first = world.add_client(request_of(300));
  world.start(first, "d", "p");
  world.run();
  WorldRequest longer = request_of(300);
  const auto more = sim_tokens(200, 99, 256);
  longer.prompt.insert(longer.prompt.end(), more.begin(), more.end());
  WorldClient& second = world.add_client(longer);
  world.start(second, "d", "p");
  world.run();
  check_ends_like_plain(world, second, longer);
  CHECK(second.resume.stats().blocks_moved() == 7 - 4);
  WorldClient& third = world.add_client(longer);
  world.start(third, "d", "p");
  world.run();
  check_same(third.choice(), plain_answer(longer));
  CHECK(third.resume.stats().blocks_moved() == 0);
  // Its last part, 52 tokens, begins a block that the second one's answer made whole: all but the
  // newest token is copied from there.
  CHECK(third.resume.stats().cached_tokens() == 7 * 64 + 51);
  // Nobody attached to the last prefill; its pins end with the lease.
  world.tick(transport::limits::lease_us + 1);
  world.check_all_free();
}

TEST_CASE("the prefill may come before the attach or after it") {
  const WorldRequest request = request_of(300);
  SUBCASE("after") {
    Pair world;
    WorldClient& client = world.add_client(request);
    const uint64_t session = world.start(client, "d", "p", false);
    world.run();
    CHECK(client.choice().token_ids.empty());
    world.send_prefill(client, "p", session);
    world.run();
    check_ends_like_plain(world, client, request);
    CHECK(client.resume.stats().blocks_moved() == 4);
  }
  SUBCASE("before, wholly computed") {
    Pair world;
    WorldClient& client = world.add_client(request);
    actors::ResumePoint preview = client.resume;
    v1::Placement placement;
    placement.mutable_prefill()->set_name("p");
    (void)preview.next_attempt(placement, 1);
    v1::PrefillRequest prefill;
    prefill.set_request_id(client.request_id);
    prefill.set_attempt(1);
    prefill.set_session(1);
    prefill.set_root(preview.prepared().root());
    const auto tokens = preview.prefill_tokens();
    prefill.mutable_tokens()->Add(tokens.begin(), tokens.end());
    REQUIRE(world.worker("p").logic.on_prefill(client.key, prefill, world.now).ok());
    world.worker("p").logic.pump();
    world.run();
    CHECK(world.worker("p").engine.stats().running == 0);
    CHECK(world.start(client, "d", "p", false) == 1);
    world.run();
    check_ends_like_plain(world, client, request);
    CHECK(client.resume.stats().blocks_moved() == 4);
  }
  SUBCASE("never: the decode worker stops waiting") {
    Pair world;
    WorldClient& client = world.add_client(request);
    world.start(client, "d", "p", false);
    world.run();
    world.tick(transport::limits::attach_us + 1);
    world.run();
    check_ends_like_plain(world, client, request);
  }
}

TEST_CASE("whatever becomes of the source, the rest is computed and the output is the same") {
  const WorldRequest request = request_of(600);
  SUBCASE("it dies, at every event") {
    for (int events = 0; events < 60; ++events) {
      Pair world;
      WorldClient& client = world.add_client(request);
      world.start(client, "d", "p");
      for (int i = 0; i < events && world.step(); ++i) {
      }
      world.kill("p");
      world.run();
      check_ends_like_plain(world, client, request);
    }
  }
  SUBCASE("its device fails in the middle of the prompt") {
    WorkerSpec failing = Pair::small_chunks();
    WorldRequest marked = request;
    marked.prompt[350] = 261;  // nowhere else: sim_tokens gives bytes
    failing.device.failing_token = 261;
    Pair world(0, failing);
    WorldClient& client = world.add_client(marked);
    world.start(client, "d", "p");
    world.run();
    check_ends_like_plain(world, client, marked);
    CHECK(client.resume.stats().blocks_moved() <= 5);
  }
  SUBCASE("its device refuses a step as a whole") {
    WorkerSpec failing = Pair::small_chunks();
    failing.device.failing_step = 4;
    Pair world(0, failing);
    WorldClient& client = world.add_client(request);
    world.start(client, "d", "p");
    world.run();
    check_ends_like_plain(world, client, request);
  }
  SUBCASE("a block arrives damaged") {
    for (uint32_t bad = 0; bad < 9; ++bad) {
      Pair world;
      world.read_fault = [bad](uint32_t block_index) { return block_index == bad; };
      WorldClient& client = world.add_client(request);
      world.start(client, "d", "p");
      world.run();
      check_ends_like_plain(world, client, request);
      CHECK(client.resume.stats().blocks_moved() < 9);
    }
  }
}

TEST_CASE("a source that is never of use costs the output nothing") {
  const WorldRequest request = request_of(600);
  SUBCASE("it cannot be reached") {
    Pair world;
    world.kill("p");
    WorldClient& client = world.add_client(request);
    world.start(client, "d", "p");
    world.run();
    check_ends_like_plain(world, client, request);
  }
  SUBCASE("it has no room for the prompt, and says so to the reader that attaches later") {
    WorkerSpec tiny;
    tiny.pages = 4;
    Pair world(0, tiny);
    WorldClient& client = world.add_client(request);
    world.start(client, "d", "p");
    world.run();
    REQUIRE(world.prefill_statuses.size() == 1);
    REQUIRE_FALSE(world.prefill_statuses[0].ok());
    CHECK(world.prefill_statuses[0].error().code == Code::exhausted);
    check_ends_like_plain(world, client, request);
  }
  SUBCASE("it is shutting down") {
    Pair world;
    WorldClient& client = world.add_client(request);
    world.start(client, "d", "p");
    world.run_until([&] { return world.worker("p").logic.load(0).prefill_tokens() >= 128; });
    world.worker("p").logic.close(false);
    world.run();
    check_ends_like_plain(world, client, request);
  }
}

TEST_CASE("workers with other numerics never share blocks, and both fingerprints are named") {
  WorkerSpec other = Pair::small_chunks();
  other.fingerprint = std::string(32, 'g');
  Pair world(0, other);
  v1::Attach attach;
  attach.set_session(77);
  attach.set_end_block(4);
  attach.set_kv_fingerprint(std::string(32, 'f'));
  const auto reply = world.worker("p").logic.on_attach(1, attach, world.now);
  REQUIRE(schemas::failed(reply.failure()));
  const Error why = schemas::from_wire(reply.failure());
  CHECK(why.code == Code::failed_precondition);
  std::string ours, theirs;
  for (int i = 0; i < 32; ++i) {
    ours += "66";
    theirs += "67";
  }
  CHECK(why.what.find(ours) != std::string::npos);
  CHECK(why.what.find(theirs) != std::string::npos);

  const WorldRequest request = request_of(300);
  WorldClient& client = world.add_client(request);
  world.start(client, "d", "p");
  world.run();
  check_same(client.choice(), plain_answer(request));
  CHECK(client.resume.stats().blocks_moved() == 0);
  world.tick(transport::limits::lease_us + 1);
  world.check_all_free();
}

TEST_CASE("a session that nobody attaches to ends with the client, its cancel or the lease") {
  const WorldRequest request = request_of(300);
  WorkerSpec spec = Pair::small_chunks();
  spec.page_lease_us = 2'000'000;
  for (const bool computed : {false, true}) {
    for (int how = 0; how < 3; ++how) {
      CAPTURE(computed);
      CAPTURE(how);
      Pair world(0, spec);
      WorldClient& client = world.add_client(request);
      (void)client.resume.next_attempt({}, 0);
      world.send_prefill(client, "p", 42);
      world.run_until([&] { return !world.prefill_statuses.empty(); });
      if (computed) world.run();
      WorldWorker& source = world.worker("p");
      CHECK(source.logic.load(0).sessions() == 1);
      if (how == 0) source.logic.on_peer_down(client.key);
      if (how == 1) source.logic.on_cancel(client.request_id, 1);
      if (how == 2) world.tick(1'900'000);
      if (how == 2) CHECK(source.logic.load(0).sessions() == 1);
      if (how == 2) world.tick(200'000);
      world.run();
      source.check_all_free();
    }
  }
}

TEST_CASE("both ends of a session say that they are there, and notice it when the other does not") {
  const WorldRequest request = request_of(600);
  Pair world;
  WorldClient& client = world.add_client(request);
  world.start(client, "d", "p");
  // The source's device is slow: nothing is announced for longer than a reader bears silence.
  world.run_until([&] { return world.worker("p").logic.load(0).prefill_tokens() >= 128; });
  world.deliver_mail();
  for (int i = 0; i < 20; ++i) {
    world.tick(transport::limits::silence_us / 4);
    world.deliver_mail();
  }
  CHECK(world.worker("d").logic.handovers().size() == 1);
  CHECK(world.worker("p").logic.load(0).sessions() == 1);
  SUBCASE("the source stops: the reader computes by itself within its patience") {
    world.worker("p").dead = true;
    world.tick(transport::limits::silence_us);
    world.run();
    check_same(client.choice(), plain_answer(request));
    CHECK(world.worker("d").logic.handovers().size() == 0);
  }
  SUBCASE("the reader stops: the source's pages are free after its lease") {
    world.worker("d").dead = true;
    world.run();
    world.tick(transport::limits::lease_us);
    world.worker("p").check_all_free();
  }
}

TEST_CASE("pins of a reader that never reads end with the lease, and later reads are refused") {
  Pair world;
  const WorldRequest request = request_of(300);
  WorldClient& client = world.add_client(request);
  v1::PrefillRequest prefill;
  prefill.set_request_id(client.request_id);
  prefill.set_session(42);
  prefill.set_root(client.resume.prepared().root());
  prefill.mutable_tokens()->Add(request.prompt.begin(), request.prompt.end());
  WorldWorker& source = world.worker("p");
  REQUIRE(source.logic.on_prefill(client.key, prefill, world.now).ok());
  source.logic.pump();
  world.run();
  CHECK(source.granted.size() == 4);
  CHECK(source.blocks.num_evictable() == 0);
  world.tick(transport::limits::lease_us / 2);
  CHECK(source.granted.size() == 4);
  world.tick(transport::limits::lease_us / 2 + 1000);
  source.check_all_free();
  transport::ReadRequest late;
  late.session_token = 42;
  late.remote_page = 0;
  late.local_page = 0;
  const auto refused = world.read(world.worker("d"), source, late, 0);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::failed_precondition);
}

TEST_CASE("cancel gives every page back, at every event") {
  for (uint32_t seed : {0u, 1u, 2u}) {
    bool ended = false;
    for (int events = 0; !ended; ++events) {
      REQUIRE(events < 500);
      WorldRequest request = request_of(500);
      request.max_tokens = 6;
      request.choices = 3;
      Pair world(seed);
      WorldClient& client = world.add_client(request);
      world.start(client, "d", "p");
      for (int i = 0; i < events && !ended; ++i) ended = !world.step();
      world.cancel(client, "d");
      world.run();
      CHECK(client.failures.empty());
      // A session that was cancelled before it was attached ends with its lease.
      world.tick(transport::limits::lease_us + 1);
      world.run();
      world.check_all_free();
    }
  }
}

TEST_CASE("a cancel that names an attempt ends the prefill of that attempt too") {
  Pair world;
  WorldClient& client = world.add_client(request_of(600));
  world.start(client, "d", "p");
  world.run_until([&] { return world.worker("p").logic.load(0).prefill_tokens() >= 64; });
  world.worker("p").logic.on_cancel(client.request_id, 0);
  CHECK(world.worker("p").logic.load(0).sessions() == 1);
  world.worker("p").logic.on_cancel(client.request_id, 1);
  CHECK(world.worker("p").logic.load(0).sessions() == 0);
  CHECK(world.worker("p").granted.empty());
}

TEST_CASE("all choices of a request use the blocks that one of them fetched") {
  for (uint32_t seed = 0; seed < 6; ++seed) {
    WorldRequest request = request_of(400);
    request.choices = 4;
    Pair world(seed);
    WorldClient& client = world.add_client(request);
    world.start(client, "d", "p");
    world.run();
    check_ends_like_plain(world, client, request);
    CHECK(client.resume.stats().blocks_moved() == 6);
    CHECK(client.choice(0).token_ids != client.choice(1).token_ids);
    // Each computes what is behind the last full block.
    CHECK(world.worker("d").engine.stats().prefill_tokens <= 4 * 64);
  }
}

TEST_CASE("many requests at once, some of them cancelled, end as if each were alone") {
  for (uint32_t seed = 1; seed < 5; ++seed) {
    Pair world(seed);
    std::vector<WorldRequest> requests;
    for (uint32_t i = 0; i < 12; ++i) {
      WorldRequest request = request_of(100 + 37 * i, i % 5);
      request.drafts = i % 2 == 0;
      request.seed = i;
      requests.push_back(request);
      world.start(world.add_client(request), "d", i % 3 == 0 ? "" : "p");
    }
    for (int i = 0; i < 60; ++i) world.step();
    for (size_t i = 0; i < 12; i += 5) world.cancel(*world.clients[i], "d");
    world.run();
    for (size_t i = 0; i < 12; ++i) {
      if (i % 5 != 0) check_same(world.clients[i]->choice(), plain_answer(requests[i]));
    }
    world.tick(transport::limits::lease_us + 1);
    world.run();
    world.check_all_free();
  }
}
