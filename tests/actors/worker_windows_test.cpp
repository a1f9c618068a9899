// Hand-overs of models with layer groups: only what the prompt's end needs moves.
#include <doctest/doctest.h>

#include "tests/actors/stored_answer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

WorkerSpec windowed_spec() {
  WorkerSpec spec;
  spec.limits.chunk_tokens = 64;
  spec.device.windows = {100, 64};
  return spec;
}

struct WindowedPair : WorkerWorld {
  explicit WindowedPair(uint32_t seed) : WorkerWorld(seed) {
    add_worker("p", windowed_spec());
    add_worker("d", windowed_spec());
  }
};

}  // namespace

TEST_CASE("of layers with a window only the pages at the prompt's end move") {
  for (uint32_t seed = 0; seed < 25; ++seed) {
    CAPTURE(seed);
    WorldRequest request;
    request.prompt = sim_tokens(700 + seed, seed, 256);
    WindowedPair world(seed);
    WorldClient& client = world.add_client(request);
    world.start(client, "d", "p");
    world.run();
    check_same(client.choice(0), plain_answer(request, 0));
    CHECK(client.failures.empty());
    world.check_all_free();
    // The last 100 positions of whole blocks lie in two of them, the last 64 in one.
    CHECK(client.resume.stats().blocks_moved() == request.prompt.size() / 64 + 2 + 1);
    CHECK(world.worker("d").engine.stats().prefill_tokens < 64 + 1);
  }
}

TEST_CASE("with layer groups a page that arrives wrong costs time and no token") {
  for (uint32_t bad = 0; bad < 30; ++bad) {
    CAPTURE(bad);
    WorldRequest request;
    request.prompt = sim_tokens(64 * 10 + 5, 4, 256);
    WindowedPair world(bad);
    world.read_fault = [bad](uint32_t page) { return page == bad; };
    WorldClient& client = world.add_client(request);
    world.start(client, "d", "p");
    world.run();
    check_same(client.choice(0), plain_answer(request, 0));
    world.check_all_free();
  }
}

TEST_CASE("from a store come the blocks and, of layers with a window, those at their end") {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    WorldRequest request;
    request.prompt = sim_tokens(700 + seed, seed, 256);
    TwoWorkers world(seed, windowed_spec());
    world.add_store(512 * block_bytes);
    check_plain(world.ask("a", request), request);
    const WorldClient& client = world.ask("b", request, 10);
    check_plain(client, request);
    CHECK(client.resume.stats().cached_tokens() == 10 * 64);
    CHECK(client.resume.stats().blocks_moved() == 10 + 2 + 1);
    CHECK(world.worker("b").engine.stats().prefill_tokens <= request.prompt.size() - 10 * 64);
    // Whoever shares less goes on behind the windows there, which are in the store as well.
    WorldRequest shorter = request;
    shorter.prompt.resize(64 * 4 + 3);
    const WorldClient& other = world.ask("b", shorter, 4);
    check_plain(other, shorter);
    world.check_all_free();
  }
}
