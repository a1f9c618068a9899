// A thousand cancels at random moments, and a client that reads slowly: everything comes back, and
// nobody else notices.
#include <doctest/doctest.h>

#include "tests/actors/plain_answer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Where a request is when it is cancelled, as far as it can be seen from outside.
std::string place_of(WorkerWorld& world, const WorldClient& client, const WorldRequest& request) {
  if (client.resume.all_finished()) return "finished";
  const WorldWorker& decode = world.worker("d");
  const WorldWorker& prefill = world.worker("p");
  size_t tokens = 0;
  for (const auto& choice : client.resume.choices()) tokens += choice.token_ids.size();
  // Every choice has at most its last token to draw, or has ended.
  if (tokens > 0 && tokens + request.choices >= request.choices * request.max_tokens) {
    return "finishing";
  }
  if (tokens > 0) return request.drafts ? "verifying" : "decoding";
  if (decode.reads_under_way > 0) return "reading";
  if (world.worker("d").logic.handovers().size() > 0 && !prefill.granted.empty()) {
    return "announced";
  }
  if (prefill.running) return "prefill chunk";
  if (prefill.logic.load(0).sessions() > 0) return "prefill queued";
  if (decode.logic.num_busy() > 0) return "admitted";
  return "queued";
}

}  // namespace

TEST_CASE("1,000 random cancels over every state give every block back") {
  std::mt19937 random(11);
  std::map<std::string, int> places;
  for (int round = 0; round < 100; ++round) {
    WorkerSpec chunks;
    chunks.limits.chunk_tokens = 64;
    WorkerWorld world(1 + static_cast<uint32_t>(round));
    world.add_worker("p", chunks);
    world.add_worker("d", round % 2 == 0 ? WorkerSpec{} : chunks);
    for (int i = 0; i < 10; ++i) {
      WorldRequest request;
      // Some share their beginning, so that caches and copies take part.
      request.prompt = sim_tokens(20 + random() % 600, static_cast<uint32_t>(random() % 3), 256);
      request.max_tokens = 1 + static_cast<uint32_t>(random() % 12);
      request.choices = 1 + static_cast<uint32_t>(random() % 3);
      request.drafts = random() % 2 == 0;
      WorldClient& client = world.add_client(request);
      const bool split = random() % 4 != 0;
      world.start(client, "d", split ? "p" : "");
      const auto events = random() % 60;
      for (uint32_t n = 0; n < events && world.step(); ++n) {
      }
      ++places[place_of(world, client, request)];
      world.cancel(client, "d");
      if (split) world.cancel(client, "p");
    }
    world.run();
    world.tick(1000);
    world.run();
    world.check_all_free();
  }
  std::string counts;
  for (const auto& [place, count] : places) counts += concat(" ", place, " ", count, ";");
  MESSAGE(concat("cancelled while", counts));
  for (const char* place : {"queued", "admitted", "prefill chunk", "announced", "reading",
                            "decoding", "verifying", "finishing", "finished"}) {
    CAPTURE(std::string(place));
    CHECK(places[place] > 5);
  }
}

TEST_CASE("a slow reader of a stream holds back only itself") {
  WorldRequest request;
  request.prompt = sim_tokens(100, 3, 256);
  request.max_tokens = 400;
  const auto steps_with = [&](bool reads) {
    WorkerWorld world;
    world.add_worker("d");
    WorldClient& slow = world.add_client(request);
    slow.acks = reads;
    WorldRequest quick = request;
    quick.seed = 99;
    WorldClient& other = world.add_client(quick);
    world.start(slow, "d");
    world.start(other, "d");
    world.run();
    check_same(other.choice(), plain_answer(quick));
    const uint64_t steps = world.worker("d").engine.stats().steps;
    if (!reads) {
      CHECK(slow.choice().token_ids.size() <= 2 * actors::limits::deltas_unacked_max);
      slow.acks = true;
      world.acknowledge(slow, "d", slow.inbox.size());
      world.run();
    }
    check_same(slow.choice(), plain_answer(request));
    world.check_all_free();
    return steps;
  };
  CHECK(steps_with(true) == steps_with(false));
}

TEST_CASE("a client that stands still loses its requests, unless it is the worker that slept") {
  WorkerWorld world;
  WorkerSpec spec;
  spec.pages = 2048;
  world.add_worker("d", spec);
  WorldRequest endless;
  endless.prompt = sim_tokens(100, 3, 256);
  endless.max_tokens = 100'000;
  WorldClient& standing = world.add_client(endless);
  WorldClient& waiting = world.add_client(endless);
  // Neither takes output; the second says that it is there.
  standing.acks = waiting.acks = false;
  world.start(standing, "d");
  world.start(waiting, "d");
  WorldWorker& worker = world.worker("d");
  world.run_until([&] { return worker.logic.load(0).decode_tokens() > 400; });
  // For all that the worker knows, it slept: the first tick comes late.
  world.tick(3 * actors::limits::client_silence_us);
  CHECK(worker.logic.load(0).running() == 2);
  constexpr TimeUs renew_us = TimeUs{1000} * actors::limits::renew_interval_ms;
  for (TimeUs passed = 0; passed <= actors::limits::client_silence_us; passed += renew_us) {
    CHECK(standing.failures.empty());
    worker.logic.on_client_heard(waiting.key, world.now);
    world.tick(renew_us);
    world.deliver_mail();
  }
  REQUIRE(standing.failures.size() == 1);
  CHECK(standing.failures[0].code == Code::unavailable);
  CHECK(waiting.failures.empty());
  CHECK(worker.logic.load(0).running() == 1);
  world.cancel(waiting, "d");
  world.run();
  world.check_all_free();
}
