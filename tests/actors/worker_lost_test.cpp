// What one side has given up and the other still waits for: found out, and gone on without.
#include <doctest/doctest.h>

#include "tests/actors/plain_answer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

WorldRequest request_of(size_t prompt_tokens) {
  WorldRequest request;
  request.prompt = sim_tokens(prompt_tokens, 3, 256);
  return request;
}

}  // namespace

TEST_CASE("a session whose prompt never comes ends, however often both ends say they are there") {
  const WorldRequest request = request_of(300);
  WorkerWorld world;
  world.add_worker("p");
  world.add_worker("d");
  WorldClient& client = world.add_client(request);
  world.start(client, "d", "p", false);
  world.run();
  CHECK(client.choice().token_ids.empty());
  TimeUs waited = 0;
  for (; client.choice().finish_reason.empty() && waited < 60'000'000; waited += 250'000) {
    world.tick(250'000);
    world.run();
  }
  CHECK(waited <= actors::limits::prompt_wait_us + 1'000'000);
  check_same(client.choice(), plain_answer(request));
  world.check_all_free();
}

TEST_CASE("a worker knows the requests that it works on, for the client that started them") {
  const WorldRequest request = request_of(100);
  WorkerWorld world;
  WorldWorker& worker = world.add_worker("d");
  WorldClient& client = world.add_client(request);
  world.start(client, "d");
  world.deliver_mail();
  CHECK(worker.logic.has(client.key, client.request_id));
  CHECK_FALSE(worker.logic.has(client.key, client.request_id + 1));
  CHECK_FALSE(worker.logic.has(client.key + 1, client.request_id));
  SUBCASE("until it ends") {
    world.run();
    CHECK_FALSE(worker.logic.has(client.key, client.request_id));
  }
  SUBCASE("until the client is taken for gone") {
    worker.logic.on_peer_down(client.key);
    CHECK_FALSE(worker.logic.has(client.key, client.request_id));
  }
}

TEST_CASE("a worker has a request that ended while its output waits for a slow client") {
  WorldRequest request = request_of(10);
  request.max_tokens = 2 * actors::limits::deltas_unacked_max;
  WorkerWorld world;
  WorldWorker& worker = world.add_worker("d");
  WorldClient& client = world.add_client(request);
  client.acks = false;
  world.start(client, "d");
  world.run();
  CHECK(client.choice().finish_reason.empty());
  CHECK(worker.logic.load(world.now).running() == 0);
  CHECK(worker.logic.has(client.key, client.request_id));
}
