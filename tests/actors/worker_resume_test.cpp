// A request that goes on elsewhere: the text is continuous across attempts for every cut, and long
// prompts pass through parts.
#include <doctest/doctest.h>

#include "actors/parts.hpp"
#include "tests/actors/plain_answer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

WorldRequest request_of(size_t prompt_tokens, uint32_t max_tokens) {
  WorldRequest request;
  request.prompt = sim_tokens(prompt_tokens, 3, 256);
  request.max_tokens = max_tokens;
  return request;
}

/// Runs on `first` until the client holds `tokens` tokens, then goes on at `second`.
void run_with_cut(WorkerWorld& world, WorldClient& client, size_t tokens, const std::string& first,
                  const std::string& second, const std::string& prefill = "") {
  world.start(client, first, prefill);
  world.run_until([&] {
    size_t held = 0;
    for (const auto& choice : client.resume.choices()) held += choice.token_ids.size();
    return held >= tokens || client.resume.all_finished();
  });
  world.kill(first);
  if (client.resume.all_finished()) return;
  world.start(client, second, prefill);
  world.run();
}

}  // namespace

TEST_CASE("the text of an interrupted request is the undisturbed text, for every cut") {
  const auto whole = plain_answer(request_of(70, 40));
  REQUIRE(whole.token_ids.size() == 40);
  // Broken and half characters are in it, or the test would say nothing of them.
  CHECK(whole.text.find("\xEF\xBF\xBD") != std::string::npos);
  for (const bool drafts : {false, true}) {
    for (size_t cut = 0; cut <= 40; ++cut) {
      WorkerWorld world;
      world.add_worker("a");
      world.add_worker("b");
      WorldRequest request = request_of(70, 40);
      request.drafts = drafts;
      WorldClient& client = world.add_client(request);
      run_with_cut(world, client, cut, "a", "b");
      check_same(client.choice(), whole);
      world.check_all_free();
    }
  }
}

TEST_CASE("stop strings are found across the cut, and half of one is not shown early") {
  const std::string text = plain_answer(request_of(70, 60)).text;
  size_t begin = text.size() / 2;
  while ((static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) ++begin;
  size_t end = begin + 9;
  while ((static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) ++end;
  WorldRequest request = request_of(70, 60);
  request.stop = {text.substr(begin, end - begin), "never in any text of this test"};
  const auto whole = plain_answer(request);
  REQUIRE(whole.finish_reason == "stop");
  for (size_t cut = 0; cut <= whole.token_ids.size(); ++cut) {
    WorkerWorld world;
    world.add_worker("a");
    world.add_worker("b");
    WorldClient& client = world.add_client(request);
    run_with_cut(world, client, cut, "a", "b");
    check_same(client.choice(), whole);
  }
}

TEST_CASE("choices that are finished stay finished when the others go on") {
  WorldRequest request = request_of(200, 50);
  request.choices = 4;
  const auto first = plain_answer(request, 0);
  request.stop_ids = {first.token_ids[8]};
  for (size_t cut : {0u, 3u, 17u, 40u, 80u, 120u}) {
    WorkerWorld world;
    for (const char* name : {"p", "a", "b"}) world.add_worker(name);
    WorldClient& client = world.add_client(request);
    run_with_cut(world, client, cut, "a", "b", "p");
    for (uint32_t i = 0; i < 4; ++i) check_same(client.choice(i), plain_answer(request, i));
    // A worker that died before it attached left pins that end with their lease.
    world.tick(transport::limits::lease_us + 1);
    world.check_all_free();
  }
}

TEST_CASE("output that was generated is fetched like prompt when a request goes on elsewhere") {
  const WorldRequest request = request_of(100, 300);
  WorkerWorld world;
  for (const char* name : {"p", "a", "b"}) world.add_worker(name);
  WorldClient& client = world.add_client(request);
  run_with_cut(world, client, 200, "a", "b", "p");
  check_same(client.choice(), plain_answer(request));
  CHECK(client.resume.attempt() == 2);
  // The prompt's block at the worker that died; at the next one that block and three of output.
  CHECK(client.resume.stats().blocks_moved() == 5);
  world.check_all_free();
}

TEST_CASE("a newer attempt at the same worker replaces the older one") {
  const WorldRequest request = request_of(300, 60);
  for (int events = 0; events < 40; ++events) {
    WorkerWorld world;
    world.add_worker("p");
    world.add_worker("d");
    WorldClient& client = world.add_client(request);
    world.start(client, "d", "p");
    for (int i = 0; i < events && world.step(); ++i) {
    }
    world.start(client, "d", "p");
    world.run();
    check_same(client.choice(), plain_answer(request));
    world.tick(transport::limits::lease_us + 1);
    world.run();
    world.check_all_free();
  }
}

TEST_CASE("a prompt of 200,000 tokens travels in parts and is prefilled elsewhere") {
  WorldRequest request = request_of(200'000, 8);
  WorkerSpec spec;
  spec.device.verify_all = false;
  spec.device.memory_tokens = 16;
  spec.pages = 3300;
  spec.limits.chunk_tokens = spec.limits.step_tokens_max = 2048;
  WorkerWorld world;
  for (const char* name : {"p", "d", "alone"}) world.add_worker(name, spec);

  WorldClient& client = world.add_client(request);
  actors::ResumePoint preview = client.resume;
  v1::Placement placement;
  placement.mutable_prefill()->set_name("p");
  const v1::StartRequest start = preview.next_attempt(placement, 1);
  const std::string payload = start.SerializeAsString();
  CHECK(payload.size() > 4 * actors::limits::part_bytes);
  actors::PartsAssembler assembler;
  std::optional<std::string> arrived;
  const actors::Parts parts(payload);
  for (size_t i = 0; i < parts.size(); ++i) {
    const actors::PartView part = parts[i];
    REQUIRE_FALSE(arrived.has_value());
    auto whole = assembler.add(actors::BulkKind::resume, 1, payload.size(), part.offset, part.bytes,
                               world.now);
    REQUIRE(whole.ok());
    arrived = std::move(*whole);
  }
  REQUIRE(arrived.has_value());
  v1::StartRequest parsed;
  REQUIRE(parsed.ParseFromString(*arrived));
  CHECK(parsed.prompt_size() == 200'000);

  CHECK(world.start(client, "d", "p") == 1);
  world.run();
  CHECK(client.resume.stats().blocks_moved() == 3125);
  CHECK(world.worker("d").engine.stats().prefill_tokens < 128);
  WorldClient& plain = world.add_client(request);
  world.start(plain, "alone");
  world.run();
  check_same(client.choice(), plain.choice());
  CHECK(client.choice().token_ids.size() == 8);
  world.check_all_free();
}
