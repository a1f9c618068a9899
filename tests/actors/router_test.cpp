// The router actor under load, in one process without a network.
#include "actors/router.hpp"

#include <doctest/doctest.h>
#include <malloc.h>

#include <caf/all.hpp>

#include "actors/runtime.hpp"
#include "schemas/convert.hpp"

using namespace troupe;
using namespace troupe::actors;

namespace {

constexpr uint32_t blocks_kept = 500;

kv::BlockName name_of(uint32_t value) {
  kv::BlockName name;
  std::memcpy(name.bytes.data(), &value, sizeof value);
  return name;
}

v1::WorkerHello hello_of(const std::string& name, uint64_t incarnation) {
  v1::WorkerHello hello;
  hello.mutable_node()->set_name(name);
  hello.mutable_node()->set_incarnation(incarnation);
  hello.mutable_node()->add_roles("decode");
  hello.mutable_profile()->set_prefill_us_per_token(100);
  hello.mutable_profile()->set_attention_ns_per_token_per_context(1);
  hello.mutable_profile()->set_decode_us_per_step(1000);
  hello.mutable_profile()->set_transfer_bytes_per_us(1000);
  hello.set_block_bytes(4096);
  hello.set_blocks_total(1000);
  hello.set_blocks_free(1000);
  return hello;
}

/// A router with one worker, and somebody who asks it. Without time-outs: CAF 0.17 leaves each one
/// in the mailbox of an actor that blocks, which gets slower and slower.
struct OneRouter {
  OneRouter() : runtime(*Runtime::start({})), asker(runtime->system()) {
    handle = runtime->system().spawn(router, PlacementOptions{}, std::make_shared<Metrics>());
    worker = runtime->system().spawn(
        [](caf::event_based_actor*) -> caf::behavior { return {[](const v1::Cancel&) {}}; });
    asker
        ->request(handle, caf::infinite, hello_of("d", 7),
                  caf::actor_cast<caf::strong_actor_ptr>(worker))
        .receive(
            [](const v1::WorkerHelloReply& reply) {
              REQUIRE_FALSE(schemas::failed(reply.failure()));
            },
            [](const caf::error&) { FAIL("no answer to the hello"); });
  }
  ~OneRouter() {
    caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(worker, caf::exit_reason::user_shutdown);
    handle = nullptr;
    worker = nullptr;
  }
  v1::Placement place(uint32_t number) {
    v1::PlaceRequest wire;
    wire.set_request_id(number);
    wire.set_number(++questions);
    wire.set_num_tokens(70);
    wire.set_max_tokens(10);
    wire.set_choices(1);
    wire.set_names(schemas::pack_names({name_of(number)}));
    v1::Placement placed;
    asker->request(handle, caf::infinite, wire)
        .receive([&](const v1::Placement& reply) { placed = reply; },
                 [](const caf::error&) { FAIL("no answer to a placement"); });
    return placed;
  }
  void report_load(bool draining = false, bool stalled = false) {
    v1::LoadReport load;
    load.set_name("d");
    load.set_incarnation(7);
    load.set_blocks_free(1000);
    load.set_blocks_total(1000);
    load.set_draining(draining);
    load.set_stalled(stalled);
    bool answered = false;
    asker->request(handle, caf::infinite, load)
        .receive([&](const v1::Pong&) { answered = true; }, [](const caf::error&) {});
    CHECK(answered);
  }
  /// The worker stored a block and, once it is full, dropped its oldest one.
  void tell_events(uint32_t number) {
    std::vector<kv::Event> events(number >= blocks_kept ? 2 : 1);
    events[0].number = ++last_event;
    events[0].stored = true;
    events[0].name = name_of(number);
    if (events.size() > 1) {
      events[1].number = ++last_event;
      events[1].stored = false;
      events[1].name = name_of(number - blocks_kept);
    }
    v1::KvEvents wire = schemas::to_wire(events);
    wire.set_name("d");
    wire.set_incarnation(7);
    asker->request(handle, caf::infinite, wire)
        .receive([](const v1::KvEventsReply& reply) { CHECK_FALSE(reply.want_snapshot()); },
                 [](const caf::error&) { FAIL("no answer to events"); });
  }
  v1::RouterStatus status() {
    v1::RouterStatus answer;
    asker->request(handle, caf::infinite, v1::StatusQuery{})
        .receive([&](const v1::RouterStatus& reply) { answer = reply; }, [](const caf::error&) {});
    return answer;
  }

  std::unique_ptr<Runtime> runtime;
  caf::scoped_actor asker;
  RouterActor handle;
  caf::actor worker;
  uint64_t last_event = 0;
  uint64_t questions = 0;
};

}  // namespace

TEST_CASE("100,000 short requests leave the router's memory flat") {
  OneRouter one;
  constexpr uint32_t all = 100'000;
  size_t warm = 0;
  for (uint32_t i = 0; i < all; ++i) {
    // As a worker does several times a second: one that is silent gets nothing.
    if (i % 100 == 0) one.report_load();
    const v1::Placement placed = one.place(i);
    REQUIRE_MESSAGE(!schemas::failed(placed.failure()), placed.failure().what());
    one.tell_events(i);
    v1::BookingUpdate update;
    update.set_request_id(i);
    update.set_number(one.questions);
    if (i % 2 == 0) one.asker->send(one.handle, update);
    update.set_done(true);
    one.asker->send(one.handle, update);
    if (i == all / 10) warm = ::mallinfo2().uordblks;
  }
  CHECK(one.status().bookings() == 0);
  const size_t after = ::mallinfo2().uordblks;
  MESSAGE("heap after 10,000 requests ", warm / 1024, " KiB, after 100,000 ", after / 1024, " KiB");
  CHECK(after < warm + 512 * 1024);
}

TEST_CASE("a worker that drains, stands or is silent gets nothing, and comes back by itself") {
  OneRouter one;
  one.report_load();
  CHECK(one.place(1).decode().name() == "d");
  one.report_load(true, false);
  CHECK(one.place(2).failure().what().find("it drains") != std::string::npos);
  one.report_load(false, true);
  CHECK(one.place(3).failure().what().find("does not move") != std::string::npos);
  one.report_load();
  CHECK(one.place(4).decode().name() == "d");
  std::this_thread::sleep_for(std::chrono::microseconds(limits::load_silence_us + 50'000));
  CHECK(one.place(5).failure().what().find("nothing was heard") != std::string::npos);
  one.report_load();
  CHECK(one.place(6).decode().name() == "d");
}

TEST_CASE("a question that comes twice, or after its end, books nothing") {
  OneRouter one;
  one.report_load();
  const auto update = [&one](uint64_t request, uint64_t number) {
    v1::BookingUpdate told;
    told.set_request_id(request);
    told.set_number(number);
    told.set_done(true);
    one.asker->send(one.handle, told);
  };
  CHECK(one.place(1).booking() != 0);
  CHECK(one.status().bookings() == 1);
  // The answer did not arrive: it is asked again, and the first booking goes.
  CHECK(one.place(1).booking() != 0);
  CHECK(one.status().bookings() == 1);
  one.questions = 0;
  CHECK(one.place(1).failure().what().find("was asked") != std::string::npos);
  CHECK(one.status().bookings() == 1);
  update(1, 2);
  CHECK(one.status().bookings() == 0);
  one.questions = 1;
  CHECK(one.place(1).failure().what().find("ended") != std::string::npos);
  CHECK(one.status().bookings() == 0);
  // Another try of the same request is another question; an old goodbye does not end it.
  CHECK(one.place(1).booking() != 0);
  update(1, 2);
  CHECK(one.status().bookings() == 1);
  update(1, 3);
  CHECK(one.status().bookings() == 0);
}
