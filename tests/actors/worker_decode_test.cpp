// The decode side of a worker: flow control towards clients, stop strings, ends, shutting down.
#include <doctest/doctest.h>

#include "tests/actors/plain_answer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

WorldRequest request_of(size_t prompt_tokens, uint32_t max_tokens = 24) {
  WorldRequest request;
  request.prompt = sim_tokens(prompt_tokens, 3, 256);
  request.max_tokens = max_tokens;
  return request;
}

/// A text that the undisturbed output holds, not at its start: a stop string.
std::string piece_of(const std::string& text) {
  REQUIRE(text.size() > 24);
  size_t begin = text.size() / 2;
  while ((static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) ++begin;
  size_t end = begin + 4;
  while (end < text.size() && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) ++end;
  return text.substr(begin, end - begin);
}

}  // namespace

TEST_CASE("choices of one request differ, and choice i of four is choice i of eight") {
  WorldRequest four = request_of(100);
  four.choices = 4;
  WorldRequest eight = request_of(100);
  eight.choices = 8;
  for (uint32_t i = 0; i < 4; ++i) {
    const auto answer = plain_answer(four, i);
    check_same(answer, plain_answer(eight, i));
    CHECK(answer.token_ids.size() == 24);
    if (i > 0) CHECK(answer.token_ids != plain_answer(four, 0).token_ids);
  }
}

TEST_CASE("a stop string ends the text before it, whichever message completes it") {
  const std::string whole = plain_answer(request_of(100, 60)).text;
  WorldRequest request = request_of(100, 60);
  request.stop = {piece_of(whole)};
  for (const bool drafts : {false, true}) {
    request.drafts = drafts;
    const auto answer = plain_answer(request);
    CHECK(answer.finish_reason == "stop");
    CHECK(answer.text == whole.substr(0, whole.find(request.stop[0])));
  }
}

TEST_CASE("a stop id ends the output, is reported, and is not part of the text") {
  const auto whole = plain_answer(request_of(100));
  WorldRequest request = request_of(100);
  request.stop_ids = {whole.token_ids[10]};
  const auto answer = plain_answer(request);
  CHECK(answer.finish_reason == "stop");
  REQUIRE(answer.token_ids.size() <= 11);
  CHECK(answer.token_ids.back() == whole.token_ids[10]);
  CHECK(whole.text.starts_with(answer.text));
}

TEST_CASE("a client that acknowledges nothing is held within its window and then gets everything") {
  const WorldRequest request = request_of(100, 2000);
  WorkerWorld world;
  world.add_worker("d");
  WorldClient& client = world.add_client(request);
  client.acks = false;
  world.start(client, "d");
  world.run();
  REQUIRE(client.inbox.size() == actors::limits::deltas_unacked_max);
  CHECK(client.choice().finish_reason.empty());
  // What is held costs no pages.
  world.check_all_free();

  client.acks = true;
  world.acknowledge(client, "d", 10);
  world.run();
  CHECK(client.inbox.size() == actors::limits::deltas_unacked_max);
  world.acknowledge(client, "d", client.inbox.size());
  world.run();
  check_same(client.choice(), plain_answer(request));
  // Merged: far fewer messages than tokens, none of them large, numbered without a gap.
  CHECK(client.inbox.size() < actors::limits::deltas_unacked_max + 8);
  for (size_t i = 0; i < client.inbox.size(); ++i) {
    CHECK(client.inbox[i].number() == i + 1);
    CHECK(client.inbox[i].ByteSizeLong() <= actors::limits::deltas_bytes + 1024);
  }
}

TEST_CASE("held output never makes a message larger than the wire takes") {
  WorldRequest request = request_of(64, 3000);
  request.top_logprobs = 20;
  request.choices = 4;
  WorkerWorld world;
  world.add_worker("d");
  WorldClient& client = world.add_client(request);
  client.acks = false;
  world.start(client, "d");
  world.run();
  client.acks = true;
  world.acknowledge(client, "d", client.inbox.size());
  world.run();
  size_t largest = 0, total = 0;
  for (const v1::Deltas& deltas : client.inbox) {
    largest = std::max(largest, deltas.ByteSizeLong());
    total += deltas.ByteSizeLong();
  }
  CHECK(total > (size_t{1} << 20));
  CHECK(largest <= actors::limits::deltas_bytes + 1024);
  for (uint32_t i = 0; i < 4; ++i) CHECK(client.choice(i).finish_reason == "length");
}

TEST_CASE("a client that takes no output for too long loses its requests and is told so") {
  WorkerWorld world;
  WorkerSpec spec;
  spec.pages = 2048;
  world.add_worker("d", spec);
  WorldClient& client = world.add_client(request_of(100, 100000));
  WorldClient& other = world.add_client(request_of(200, 20));
  client.acks = false;
  world.start(client, "d");
  world.start(other, "d");
  WorldWorker& worker = world.worker("d");
  world.run_until([&] { return worker.logic.load(0).decode_tokens() > 200; });
  CHECK(client.inbox.size() == actors::limits::deltas_unacked_max);
  world.tick(actors::limits::slow_client_us / 2);
  CHECK(worker.logic.load(0).running() == 1);
  world.tick(actors::limits::slow_client_us / 2 + 1'000'000);
  world.run();
  world.check_all_free();
  REQUIRE(client.failures.size() == 1);
  CHECK(client.failures[0].code == Code::unavailable);
  CHECK(other.choice().finish_reason == "length");
}

TEST_CASE("too much held output ends the requests before the time is over") {
  WorkerWorld world;
  WorkerSpec spec;
  spec.pages = 4096;
  spec.device.vocab_size = 32;  // cheap to draw from
  spec.device.verify_all = false;
  world.add_worker("d", spec);
  WorldRequest request = request_of(10, 20000);
  request.prompt = sim_tokens(10, 3, 32);
  request.top_logprobs = 20;
  request.choices = 4;
  WorldClient& client = world.add_client(request);
  client.acks = false;
  world.start(client, "d");
  WorldWorker& worker = world.worker("d");
  for (int i = 0; i < 200 && client.failures.empty(); ++i) {
    for (int steps = 0; steps < 500 && world.step(); ++steps) {
    }
    world.tick(1000);
  }
  CHECK(client.failures.size() == 4);
  CHECK(worker.logic.load(0).decode_tokens() < 80000);
  world.run();
  world.check_all_free();
}

TEST_CASE("the work of a client that vanishes stops within a step") {
  WorkerWorld world;
  world.add_worker("d");
  WorldClient& client = world.add_client(request_of(300, 500));
  WorldClient& other = world.add_client(request_of(200, 30));
  world.start(client, "d");
  world.start(other, "d");
  WorldWorker& worker = world.worker("d");
  world.run_until([&] { return worker.logic.load(0).decode_tokens() > 20; });
  const size_t messages = client.inbox.size();
  worker.logic.on_peer_down(client.key);
  world.run();
  CHECK(client.inbox.size() == messages);
  check_same(other.choice(), plain_answer(request_of(200, 30)));
  world.check_all_free();
}

TEST_CASE("a worker that shuts down tells every client to go elsewhere, and takes nothing new") {
  WorkerWorld world;
  world.add_worker("p");
  world.add_worker("d");
  WorldRequest several = request_of(300, 500);
  several.choices = 3;
  WorldClient& running = world.add_client(several);
  WorldClient& waiting = world.add_client(request_of(600, 500));
  world.start(running, "d");
  world.start(waiting, "d", "p", false);
  WorldWorker& worker = world.worker("d");
  world.run_until([&] { return worker.logic.load(0).decode_tokens() > 20; });
  worker.logic.close(false);
  REQUIRE(running.failures.size() == 3);
  REQUIRE(waiting.failures.size() == 1);
  for (const Error& why : running.failures) CHECK(why.code == Code::unavailable);
  WorldClient& late = world.add_client(request_of(64));
  world.start(late, "d");
  world.run();
  REQUIRE(late.failures.size() == 1);
  CHECK(late.failures[0].code == Code::unavailable);
  v1::PrefillRequest prefill;
  prefill.set_session(9);
  CHECK_FALSE(worker.logic.on_prefill(1000, prefill, world.now).ok());
  world.tick(transport::limits::lease_us + 1);
  world.run();
  world.check_all_free();
}

TEST_CASE("what cannot be started is refused with the reason, and the worker goes on") {
  WorkerWorld world;
  world.add_worker("d");
  WorldRequest bad = request_of(100);
  const auto refused = [&](const WorldRequest& request) {
    WorldClient& client = world.add_client(request);
    world.start(client, "d");
    world.run();
    REQUIRE(client.failures.size() == 1);
    return client.failures[0];
  };
  bad.prompt.clear();
  CHECK(refused(bad).code == Code::invalid_argument);
  bad.prompt = {1, 2, 100000};
  CHECK(refused(bad).what.find("100000") != std::string::npos);
  bad = request_of(100);
  bad.stop.assign(17, "x");
  CHECK(refused(bad).what.find("17") != std::string::npos);
  bad.stop = {""};
  CHECK(refused(bad).code == Code::invalid_argument);
  bad.stop = {std::string(10000, 'x')};
  CHECK(refused(bad).code == Code::invalid_argument);
  bad = request_of(100);
  bad.temperature = -1.0f;
  CHECK(refused(bad).what.find("temperature") != std::string::npos);
  bad = request_of(64 * 300);
  CHECK(refused(bad).code == Code::exhausted);
  WorldClient& good = world.add_client(request_of(100));
  world.start(good, "d");
  world.run();
  check_same(good.choice(), plain_answer(request_of(100)));
  world.check_all_free();
}

TEST_CASE("without a tokenizer there is no text, and stop strings are refused") {
  WorkerWorld world;
  WorkerSpec spec;
  spec.tokenizer = nullptr;
  world.add_worker("d", spec);
  WorldClient& client = world.add_client(request_of(100));
  world.start(client, "d");
  WorldRequest stopping = request_of(100);
  stopping.stop = {"x"};
  WorldClient& refused = world.add_client(stopping);
  world.start(refused, "d");
  world.run();
  CHECK(client.choice().token_ids == plain_answer(request_of(100)).token_ids);
  CHECK(client.choice().text.empty());
  REQUIRE(refused.failures.size() == 1);
  CHECK(refused.failures[0].code == Code::unsupported);
}

TEST_CASE("a worker that drains takes nothing new and goes on with what it has") {
  WorkerWorld world;
  world.add_worker("d");
  world.add_worker("e");
  const WorldRequest request = request_of(100, 60);
  WorldClient& running = world.add_client(request);
  world.start(running, "d");
  WorldWorker& worker = world.worker("d");
  world.run_until([&] { return running.choice().token_ids.size() > 10; });
  worker.logic.drain();
  CHECK(worker.logic.load(0).draining());
  CHECK(worker.logic.num_busy() == 1);
  WorldClient& late = world.add_client(request);
  world.start(late, "d");
  v1::PrefillRequest prefill;
  prefill.set_session(9);
  CHECK_FALSE(worker.logic.on_prefill(1000, prefill, world.now).ok());
  v1::Attach attach;
  attach.set_session(10);
  attach.set_kv_fingerprint(std::string(32, 'f'));
  CHECK(schemas::failed(worker.logic.on_attach(1, attach, world.now).failure()));
  SUBCASE("to its end, where there is nobody else") {
    world.run();
    check_same(running.choice(), plain_answer(request));
    CHECK(running.failures.empty());
    REQUIRE(late.failures.size() == 1);
    CHECK(late.inbox.back().deltas(0).finish() == "moved");
  }
  SUBCASE("until somebody else can take over: nothing is lost, repeated or changed") {
    worker.logic.move_all();
    REQUIRE(running.failures.size() == 1);
    CHECK(running.inbox.back().deltas(0).finish() == "moved");
    CHECK(running.choice().token_ids.size() < 60);
    world.start(running, "e");
    world.run();
    check_same(running.choice(), plain_answer(request));
  }
  CHECK(worker.logic.num_busy() == 0);
  world.check_all_free();
}

TEST_CASE("a cluster that goes down is no reason to look elsewhere") {
  WorkerWorld world;
  world.add_worker("d");
  WorldClient& running = world.add_client(request_of(100, 60));
  world.start(running, "d");
  world.run_until([&] { return running.choice().token_ids.size() > 10; });
  world.worker("d").logic.close(true);
  CHECK(running.inbox.back().deltas(0).finish() == "closing");
  WorldClient& late = world.add_client(request_of(100, 60));
  world.start(late, "d");
  world.run();
  CHECK(late.inbox.back().deltas(0).finish() == "closing");
  world.check_all_free();
}

TEST_CASE("a step that never ends makes the worker unhealthy") {
  WorkerWorld world;
  world.add_worker("d");
  WorldClient& running = world.add_client(request_of(100, 60));
  world.start(running, "d");
  world.deliver_mail();
  WorldWorker& worker = world.worker("d");
  REQUIRE(worker.running.has_value());
  CHECK_FALSE(worker.logic.is_stalled(world.now + actors::limits::step_stall_us));
  CHECK(worker.logic.is_stalled(world.now + actors::limits::step_stall_us + 1));
  CHECK(worker.logic.load(world.now + actors::limits::step_stall_us + 1).stalled());
  world.run();
  CHECK_FALSE(worker.logic.is_stalled(world.now + 10 * actors::limits::step_stall_us));
}
