// The logic of transfer sessions: the table of transitions, leases, pins, random orders.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <utility>

#include "transport/receiver_session.hpp"
#include "transport/source_session.hpp"

using namespace troupe;
using namespace troupe::transport;

namespace {

BlockAnnouncement block(uint32_t index) {
  return {index, 100 + index, index * 7};
}

}  // namespace

TEST_CASE("every pair of states is legal or not as the table says") {
  using enum SessionState;
  const std::set<std::pair<SessionState, SessionState>> legal = {
      {offered, reserved}, {reserved, moving}, {moving, verified}, {verified, done}};
  for (int from = 0; from < num_session_states; ++from) {
    for (int to = 0; to < num_session_states; ++to) {
      const auto a = static_cast<SessionState>(from);
      const auto b = static_cast<SessionState>(to);
      const bool ends = !is_final(a) && (b == cancelled || b == failed);
      CHECK_MESSAGE(transition_allowed(a, b) == (legal.contains({a, b}) || ends), name(a), " to ",
                    name(b));
    }
  }
}

TEST_CASE("a source pins announced pages until they are read") {
  SourceSession session(7, 0);
  CHECK(session.announce(block(0)).announce.empty());
  CHECK(session.state() == SessionState::offered);
  CHECK(session.on_reserved(0, 2, 10).announce == std::vector{block(0)});
  CHECK(session.announce(block(1)).announce == std::vector{block(1)});
  CHECK(session.announce(block(1)).unpin == std::vector<kv::PageId>{101});
  CHECK(session.announce(block(2)).unpin == std::vector<kv::PageId>{102});
  CHECK(session.num_pinned() == 2);
  const uint32_t read[] = {0, 5};
  CHECK(session.on_read_done(read, 20).unpin == std::vector<kv::PageId>{100});
  CHECK(session.finish().tell_last);
  CHECK(!session.finish().tell_last);
  CHECK(session.state() == SessionState::moving);
  const uint32_t last[] = {1};
  CHECK(session.on_read_done(last, 30).unpin == std::vector<kv::PageId>{101});
  CHECK(session.state() == SessionState::verified);
  CHECK(session.on_done(40).over);
  CHECK(session.state() == SessionState::done);
  CHECK(session.announce(block(3)).unpin == std::vector<kv::PageId>{103});
}

TEST_CASE("blocks that the receiver does not want are not pinned for it") {
  SourceSession session(7, 0);
  for (uint32_t i = 0; i < 4; ++i) session.announce(block(i));
  CHECK(session.num_pinned() == 4);
  session.finish();
  const auto attached = session.on_reserved(2, 3, 1);
  CHECK(attached.announce == std::vector{block(2)});
  CHECK(attached.unpin == std::vector<kv::PageId>{100, 101, 103});
  CHECK(attached.tell_last);
  CHECK(session.on_reserved(0, 4, 2).announce.empty());
  CHECK(session.num_pinned() == 1);
}

TEST_CASE("a source gives its pins back when the lease ends, the peer goes or it fails itself") {
  for (int how = 0; how < 5; ++how) {
    SourceSession session(7, 0);
    session.on_reserved(0, 9, 0);
    session.announce(block(0));
    session.announce(block(1));
    CHECK(session.on_tick(limits::lease_us - 1).unpin.empty());
    session.on_heartbeat(limits::lease_us - 1);
    CHECK(session.on_tick(limits::lease_us).unpin.empty());
    const auto end = how == 0   ? session.on_tick(2 * limits::lease_us)
                     : how == 1 ? session.on_peer_down()
                     : how == 2 ? session.fail(error(Code::internal, "x"))
                     : how == 3 ? session.cancel()
                                : session.on_done(limits::lease_us);
    CHECK(end.unpin == std::vector<kv::PageId>{100, 101});
    CHECK(end.over);
    CHECK(end.tell_failure.has_value() == (how == 0 || how == 2 || how == 3));
    CHECK(is_final(session.state()));
    CHECK((session.state() == SessionState::cancelled) == (how >= 3));
    CHECK(session.num_pinned() == 0);
    CHECK(!session.cancel().over);
    CHECK(!session.fail(error(Code::internal, "x")).over);
  }
}

TEST_CASE("both ends say in time that they are still there") {
  SourceSession source(7, 0, 900'000);
  ReceiverSession receiver(7, 0, 900'000, 900'000);
  CHECK(!source.on_tick(300'000).tell_heartbeat);  // nobody attached yet
  source.on_reserved(0, 1, 0);
  CHECK(!source.on_tick(299'999).tell_heartbeat);
  CHECK(source.on_tick(300'000).tell_heartbeat);
  CHECK(!source.on_tick(300'001).tell_heartbeat);
  receiver.reserve(0, {4});
  CHECK(!receiver.on_tick(400'000).tell_heartbeat);
  receiver.on_connected(0);
  CHECK(receiver.on_tick(400'000).tell_heartbeat);
  CHECK(receiver.on_tick(899'999).tell_heartbeat);
  CHECK(receiver.on_tick(900'000).failure->code == Code::timeout);
  // A long lease does not make it silent for as long.
  SourceSession patient(7, 0, 60'000'000);
  patient.on_reserved(0, 1, 0);
  CHECK(patient.on_tick(limits::heartbeat_us).tell_heartbeat);
}

TEST_CASE("a receiver reads what is announced into its pages and says so") {
  ReceiverSession session(7, 0);
  session.reserve(10, {4, 5});
  CHECK(session.state() == SessionState::reserved);
  // Not before the way to the source is known.
  CHECK(session.on_announce(block(11), 1).read.empty());
  CHECK(session.on_connected(1).read == std::vector{BlockRead{11, 111, 5, 77}});
  CHECK(session.on_connected(1).read.empty());
  CHECK(session.on_announce(block(11), 1).read.empty());
  CHECK(session.state() == SessionState::moving);
  CHECK(session.on_read_done(11, {}, 2).arrived == std::vector<uint32_t>{11});
  CHECK(session.on_announce(block(10), 2).read == std::vector{BlockRead{10, 110, 4, 70}});
  CHECK(!session.on_last(3).failure.has_value());
  const auto end = session.on_read_done(10, {}, 4);
  CHECK(end.arrived == std::vector<uint32_t>{10});
  CHECK(end.tell_over);
  CHECK(end.settled);
  CHECK(!end.failure.has_value());
  CHECK(session.state() == SessionState::done);
  CHECK(session.settled());
}

TEST_CASE("a receiver that failed is settled when its last read has ended, and not before") {
  ReceiverSession session(7, 0);
  session.reserve(0, {4, 5, 6, 7});
  session.on_connected(0);
  for (uint32_t i = 0; i < 4; ++i) session.on_announce(block(i), 1);
  session.on_read_done(0, {}, 1);
  session.on_read_done(2, {}, 1);
  const auto failed = session.on_read_done(1, error(Code::corrupt, "wrong checksum"), 1);
  CHECK(failed.failure->code == Code::corrupt);
  CHECK(failed.tell_over);
  CHECK(failed.cancel_reads);
  CHECK(!failed.settled);
  CHECK(!session.cancel().tell_over);
  const auto last = session.on_read_done(3, error(Code::cancelled, "cancelled"), 1);
  CHECK(last.settled);
  CHECK(!last.failure.has_value());
  CHECK(session.num_verified() == 2);
  CHECK(session.settled());
}

TEST_CASE("a receiver is not led astray by its peer") {
  ReceiverSession early(7, 0);
  CHECK(early.on_announce(block(0), 0).failure->code == Code::invalid_argument);
  ReceiverSession session(7, 0);
  session.reserve(3, {4, 5});
  CHECK(session.on_read_done(3, {}, 0).arrived.empty());
  CHECK(session.on_read_done(9, {}, 0).arrived.empty());
  for (const uint32_t outside : {0u, 2u, 5u, UINT32_MAX}) {
    ReceiverSession other(7, 0);
    other.reserve(3, {4, 5});
    const auto beyond = other.on_announce(block(outside), 0);
    CHECK(beyond.failure->code == Code::invalid_argument);
    CHECK(beyond.settled);
  }
  CHECK(session.on_last(0).failure->code == Code::unavailable);
  CHECK(ReceiverSession(7, 0).reserve(0, {}).failure->code == Code::invalid_argument);
  CHECK(ReceiverSession(7, 0).on_last(0).failure.has_value());
}

TEST_CASE("a receiver reads what was announced before it fails for what was not") {
  for (const bool connects_late : {false, true}) {
    ReceiverSession session(7, 0);
    session.reserve(0, {4, 5, 6});
    if (!connects_late) session.on_connected(1);
    session.on_announce(block(0), 1);
    session.on_announce(block(1), 1);
    CHECK(!session.on_last(1).failure.has_value());
    if (connects_late) CHECK(session.on_connected(2).read.size() == 2);
    CHECK(!session.on_read_done(1, {}, 2).failure.has_value());
    const auto end = session.on_read_done(0, {}, 3);
    CHECK(end.arrived == std::vector<uint32_t>{0});
    REQUIRE(end.failure.has_value());
    CHECK(end.failure->code == Code::unavailable);
    CHECK(end.tell_over);
    CHECK(end.settled);
    CHECK(session.num_verified() == 2);
  }
}

namespace {

/// Drives a session into a state by legal events, or says that it is not to be reached.
SourceSession source_in(SessionState state) {
  SourceSession session(7, 0);
  if (state == SessionState::offered) return session;
  session.on_reserved(0, 1, 0);
  if (state == SessionState::reserved) return session;
  if (state == SessionState::cancelled) session.cancel();
  if (state == SessionState::failed) session.on_peer_down();
  session.announce(block(0));
  if (state == SessionState::moving) return session;
  session.finish();
  const uint32_t read[] = {0};
  session.on_read_done(read, 0);
  if (state == SessionState::done) session.on_done(0);
  return session;
}

ReceiverSession receiver_in(SessionState state) {
  ReceiverSession session(7, 0);
  if (state == SessionState::offered) return session;
  session.reserve(0, {4, 5});
  if (state == SessionState::reserved) return session;
  if (state == SessionState::cancelled) session.cancel();
  if (state == SessionState::failed) session.fail(error(Code::unavailable, "gone"));
  session.on_connected(0);
  session.on_announce(block(0), 0);
  if (state == SessionState::moving) return session;
  session.on_read_done(0, {}, 0);
  session.on_announce(block(1), 0);
  session.on_read_done(1, {}, 0);
  return session;
}

}  // namespace

TEST_CASE("cancel and failure are legal in every state, and every end gives everything back") {
  for (int i = 0; i < num_session_states; ++i) {
    const auto state = static_cast<SessionState>(i);
    CAPTURE(std::string(name(state)));
    for (const bool cancels : {true, false}) {
      SourceSession source = source_in(state);
      REQUIRE(source.state() == state);
      const auto ended = cancels ? source.cancel() : source.fail(error(Code::internal, "x"));
      CHECK(ended.over == !is_final(state));
      CHECK(source.num_pinned() == 0);
      CHECK(is_final(source.state()));
      if (is_final(state)) CHECK(source.state() == state);
    }
    // A receiver goes through "verified" in one step.
    if (state == SessionState::verified) continue;
    for (const bool cancels : {true, false}) {
      ReceiverSession receiver = receiver_in(state);
      REQUIRE(receiver.state() == state);
      const uint32_t reading = receiver.num_reading();
      const auto ended = cancels ? receiver.cancel() : receiver.fail(error(Code::internal, "x"));
      CHECK(ended.tell_over == !is_final(state));
      CHECK(ended.settled == (!is_final(state) && reading == 0));
      CHECK(is_final(receiver.state()));
      if (is_final(state)) CHECK(receiver.state() == state);
    }
  }
}

namespace {

/// Both ends of one session, driven in a random order.
struct RandomSession {
  static constexpr uint32_t count = 6;
  explicit RandomSession(std::mt19937& generator) : random(generator) {}

  std::mt19937& random;
  SourceSession source{7, 0, 1000};
  ReceiverSession receiver{7, 0, 1000, 1000};
  std::multiset<kv::PageId> unpinned;
  std::set<uint32_t> reading;
  uint32_t announced = 0;
  bool reserved = false;
  int ends = 0;
  int settled = 0;
  TimeUs now = 0;
  std::vector<BlockAnnouncement> wire;

  void on_source(const SourceActions& actions) {
    unpinned.insert(actions.unpin.begin(), actions.unpin.end());
    wire.insert(wire.end(), actions.announce.begin(), actions.announce.end());
    ends += actions.over ? 1 : 0;
  }

  void on_receiver(const ReceiverActions& actions) {
    settled += actions.settled ? 1 : 0;
    for (const auto& read : actions.read) reading.insert(read.index);
    if (!actions.arrived.empty()) on_source(source.on_read_done(actions.arrived, now));
    if (actions.tell_over) on_source(source.on_done(now));
  }

  void take_from_wire() {
    if (wire.empty()) return;
    const auto next = wire.front();
    wire.erase(wire.begin());
    on_receiver(receiver.on_announce(next, now));
  }

  void end_a_read() {
    if (reading.empty()) return;
    const uint32_t index = *reading.begin();
    reading.erase(index);
    const bool bad = random() % 12 == 0;
    on_receiver(receiver.on_read_done(
        index, bad ? Status(error(Code::unavailable, "gone")) : Status(), now));
  }

  void step() {
    now += random() % 40;
    const auto event = random() % 14;
    if (event == 0) {
      if (!std::exchange(reserved, true)) {
        on_receiver(receiver.reserve(0, {10, 11, 12, 13, 14, 15}));
      }
    } else if (event == 1) {
      if (reserved) on_source(source.on_reserved(0, count, now));
    } else if (event <= 4) {
      if (announced < count) on_source(source.announce(block(announced++)));
    } else if (event <= 7) {
      take_from_wire();
    } else if (event <= 9) {
      end_a_read();
    } else if (event == 10) {
      if (announced == count) on_source(source.finish());
      if (reserved) on_receiver(receiver.on_connected(now));
    } else if (event == 11) {
      if (random() % 20 == 0) on_source(source.cancel());
    } else if (event == 12) {
      if (random() % 20 == 0) on_receiver(receiver.cancel());
    } else {
      const auto from_source = source.on_tick(now);
      const auto from_receiver = receiver.on_tick(now);
      on_source(from_source);
      on_receiver(from_receiver);
      if (from_source.tell_heartbeat) on_receiver(receiver.on_heartbeat(now));
      if (from_receiver.tell_heartbeat) on_source(source.on_heartbeat(now));
    }
  }

  void let_leases_end() {
    now += 2000;
    on_source(source.on_tick(now));
    on_receiver(receiver.on_tick(now));
    for (const uint32_t index : std::set(reading)) {
      on_receiver(receiver.on_read_done(index, error(Code::cancelled, "cancelled"), now));
    }
  }
};

}  // namespace

TEST_CASE("in any order of events every pin comes back exactly once, and each end ends once") {
  std::mt19937 random(3);
  int done = 0;
  for (int round = 0; round < 3000; ++round) {
    RandomSession session(random);
    for (int step = 0; step < 120; ++step) session.step();
    session.let_leases_end();
    REQUIRE(is_final(session.source.state()));
    REQUIRE(session.receiver.settled());
    CHECK(session.ends == 1);
    CHECK(session.settled == 1);
    CHECK(session.unpinned.size() == session.announced);
    CHECK(std::set(session.unpinned.begin(), session.unpinned.end()).size() == session.announced);
    done += session.source.state() == SessionState::done ? 1 : 0;
  }
  CHECK(done > 100);
}
