// Prompts that a worker keeps because their requests ask for it.
#include <doctest/doctest.h>

#include "tests/actors/plain_answer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr TimeUs minute = 60'000'000;

WorldRequest request_of(size_t prompt_tokens, uint32_t seed, uint32_t pinned_tokens = 0) {
  WorldRequest request;
  request.prompt = sim_tokens(prompt_tokens, seed, 256);
  request.max_tokens = 4;
  request.pinned_tokens = pinned_tokens;
  request.pin_ttl_s = 300;
  return request;
}

struct World : WorkerWorld {
  explicit World(uint32_t pages) {
    WorkerSpec spec;
    spec.pages = pages;
    add_worker("d", spec);
    if (pages > 0) add_worker("p", WorkerSpec{});
  }
  /// Runs the request to its end and returns what its client heard.
  v1::ChoiceStats answer(const WorldRequest& request, const std::string& prefill = "") {
    WorldClient& client = add_client(request);
    start(client, "d", prefill);
    run();
    WorldRequest plain = request;
    plain.pinned_tokens = 0;
    check_same(client.choice(), plain_answer(plain));
    return client.resume.stats();
  }
  [[nodiscard]] uint32_t pinned() { return worker("d").logic.load(now).blocks_pinned(); }
};

}  // namespace

TEST_CASE("a pinned prompt survives others until its time is over; a use begins it anew") {
  World world(32);
  const WorldRequest kept = request_of(300, 1, 290);
  CHECK(world.answer(kept).pinned_tokens() == 256);
  CHECK(world.pinned() == 4);
  for (uint32_t i = 0; i < 8; ++i) world.answer(request_of(600, 10 + i));
  world.tick(3 * minute);
  CHECK(world.answer(request_of(300, 1)).cached_tokens() == 256);
  world.tick(3 * minute);
  CHECK(world.pinned() == 4);
  for (uint32_t i = 0; i < 8; ++i) world.answer(request_of(600, 20 + i));
  CHECK(world.answer(kept).cached_tokens() == 256);
  world.tick(5 * minute);
  CHECK(world.pinned() == 0);
  world.check_all_free();
  for (uint32_t i = 0; i < 8; ++i) world.answer(request_of(600, 30 + i));
  CHECK(world.answer(request_of(300, 1)).cached_tokens() == 0);
}

TEST_CASE("pins take at most their share, tell what they took, and no request fails for them") {
  World world(32);
  CHECK(world.answer(request_of(1000, 1, 1000)).pinned_tokens() == 8 * 64);
  CHECK(world.pinned() == 8);
  // Needs the pinned pages too.
  CHECK(world.answer(request_of(32 * 64 - 10, 2)).pinned_tokens() == 0);
  CHECK(world.pinned() == 0);
  world.check_all_free();
  // It grows into them.
  world.answer(request_of(500, 3, 500));
  CHECK(world.pinned() == 7);
  WorldRequest growing = request_of(24 * 64, 4);
  growing.max_tokens = 7 * 64;
  world.answer(growing);
  CHECK(world.pinned() == 0);
}

TEST_CASE("less than a block, a cancelled request and what an attempt drew before pin nothing") {
  World world(32);
  CHECK(world.answer(request_of(300, 1, 63)).pinned_tokens() == 0);
  WorldClient& client = world.add_client(request_of(300, 2, 300));
  world.start(client, "d");
  world.deliver_mail();
  world.cancel(client, "d");
  world.run();
  CHECK(world.pinned() == 0);
  world.check_all_free();
  // Only blocks of the prompt, whatever is asked.
  CHECK(world.answer(request_of(130, 3, 100'000)).pinned_tokens() == 128);
}

TEST_CASE("a prompt that another worker computed is pinned where it is decoded") {
  World world(64);
  const v1::ChoiceStats stats = world.answer(request_of(500, 1, 500), "p");
  CHECK(stats.blocks_moved() == 7);
  CHECK(stats.pinned_tokens() == 7 * 64);
  CHECK(world.pinned() == 7);
}

TEST_CASE("a worker that goes down gives its pins back") {
  World world(32);
  world.answer(request_of(300, 1, 300));
  CHECK(world.pinned() == 4);
  world.worker("d").logic.close(false);
  CHECK(world.pinned() == 0);
  world.check_all_free();
}
