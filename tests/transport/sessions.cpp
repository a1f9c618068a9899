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
  return {index, {}, 100 + index, index * 7};
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
  SourceSession session(7, 1, 0);
  CHECK(session.announce(block(0)).announce.empty());
  CHECK(session.state() == SessionState::offered);
  CHECK(session.on_reserved(10).announce == std::vector{block(0)});
  CHECK(session.announce(block(1)).announce == std::vector{block(1)});
  CHECK(session.announce(block(1)).unpin == std::vector<kv::PageId>{101});
  CHECK(session.num_pinned() == 2);
  const uint32_t read[] = {0, 5};
  CHECK(session.on_read_done(read, 20).unpin == std::vector<kv::PageId>{100});
  CHECK(session.finish(2).unpin.empty());
  CHECK(session.state() == SessionState::moving);
  const uint32_t last[] = {1};
  CHECK(session.on_read_done(last, 30).unpin == std::vector<kv::PageId>{101});
  CHECK(session.state() == SessionState::verified);
  const auto end = session.on_done(40);
  CHECK(end.revoke);
  CHECK(session.state() == SessionState::done);
  CHECK(session.announce(block(2)).unpin == std::vector<kv::PageId>{102});
}

TEST_CASE("a source gives its pins back when the lease ends, the peer goes or fails") {
  for (int how = 0; how < 4; ++how) {
    SourceSession session(7, 1, 0);
    session.on_reserved(0);
    session.announce(block(0));
    session.announce(block(1));
    CHECK(session.on_peer_down(99).unpin.empty());
    CHECK(session.on_tick(limits::lease_us - 1).unpin.empty());
    session.on_heartbeat(limits::lease_us - 1);
    CHECK(session.on_tick(limits::lease_us).unpin.empty());
    const auto end = how == 0   ? session.on_tick(2 * limits::lease_us)
                     : how == 1 ? session.on_peer_down(1)
                     : how == 2 ? session.on_peer_failed()
                                : session.cancel(false);
    CHECK(end.unpin == std::vector<kv::PageId>{100, 101});
    CHECK(end.revoke);
    CHECK(end.failure.has_value() == (how != 3));
    CHECK(end.tell.cancel == (how == 3));
    CHECK(is_final(session.state()));
    CHECK(session.num_pinned() == 0);
    CHECK(session.cancel(false).unpin.empty());
    CHECK(!session.cancel(false).tell.cancel);
  }
}

TEST_CASE("a source that announced too little fails instead of waiting for ever") {
  SourceSession session(7, 1, 0);
  session.on_reserved(0);
  session.announce(block(0));
  CHECK(session.finish(2).failure.has_value());
  SourceSession early(7, 1, 0);
  early.on_reserved(0);
  CHECK(early.on_done(1).failure->code == Code::failed_precondition);
}

TEST_CASE("both ends say heartbeats three times per lease") {
  SourceSession source(7, 1, 0, 9000);
  ReceiverSession receiver(7, 2, 0, 9000);
  CHECK(source.next_tick() == 3000);
  CHECK(!source.on_tick(2999).tell.heartbeat);
  CHECK(source.on_tick(3000).tell.heartbeat);
  CHECK(!source.on_tick(3001).tell.heartbeat);
  CHECK(receiver.on_tick(3000).tell.heartbeat);
  CHECK(receiver.on_tick(8999).tell.heartbeat);
  CHECK(receiver.on_tick(9000).failure->code == Code::timeout);
}

TEST_CASE("a receiver reads what is announced into its pages and says so") {
  ReceiverSession session(7, 2, 0);
  CHECK(session.reserve({4, 5, 6}).tell_reserved);
  const auto read = session.on_announce(block(1), 1);
  CHECK(read.read == std::vector{BlockRead{1, 101, 5, 7}});
  CHECK(session.on_announce(block(1), 1).read.empty());
  CHECK(session.state() == SessionState::moving);
  CHECK(session.on_read_done(1, {}).tell_read_done == std::vector<uint32_t>{1});
  CHECK(session.num_verified_prefix() == 0);
  session.on_announce(block(0), 2);
  CHECK(!session.on_finish(2, 3).complete);
  const auto end = session.on_read_done(0, {});
  CHECK(end.complete);
  CHECK(end.tell.done);
  CHECK(end.release == std::vector<kv::PageId>{6});
  CHECK(session.state() == SessionState::done);
  CHECK(session.settled());
}

TEST_CASE("a receiver keeps the verified prefix of a session that failed") {
  ReceiverSession session(7, 2, 0);
  session.reserve({4, 5, 6, 7});
  for (uint32_t i = 0; i < 4; ++i) session.on_announce(block(i), 1);
  session.on_read_done(0, {});
  session.on_read_done(2, {});
  const auto failed = session.on_read_done(1, error(Code::corrupt, "wrong checksum"));
  CHECK(failed.failure->code == Code::corrupt);
  CHECK(failed.tell.failed);
  CHECK(failed.cancel_reads);
  CHECK(failed.release.empty());
  CHECK(!session.settled());
  const auto last = session.on_read_done(3, error(Code::cancelled, "cancelled"));
  CHECK(last.release == std::vector<kv::PageId>{5, 6, 7});
  CHECK(!last.failure.has_value());
  CHECK(session.num_verified_prefix() == 1);
  CHECK(session.settled());
}

TEST_CASE("a receiver is not led astray by its peer") {
  ReceiverSession early(7, 2, 0);
  CHECK(early.on_announce(block(0), 0).failure->code == Code::failed_precondition);
  ReceiverSession session(7, 2, 0);
  session.reserve({4, 5});
  CHECK(session.on_read_done(0, {}).tell_read_done.empty());
  CHECK(session.on_read_done(9, {}).tell_read_done.empty());
  const auto beyond = session.on_announce(block(2), 0);
  CHECK(beyond.failure->code == Code::invalid_argument);
  CHECK(beyond.release == std::vector<kv::PageId>{4, 5});
  CHECK(session.reserve({8}).release == std::vector<kv::PageId>{8});
  ReceiverSession totals(7, 2, 0);
  totals.reserve({4, 5});
  CHECK(totals.on_finish(3, 0).failure.has_value());
}

namespace {

/// Both ends of one session, driven in a random order.
struct RandomSession {
  static constexpr uint32_t count = 6;
  explicit RandomSession(std::mt19937& generator) : random(generator) {}

  std::mt19937& random;
  SourceSession source{7, 1, 0, 1000};
  ReceiverSession receiver{7, 2, 0, 1000};
  std::multiset<kv::PageId> unpinned;
  std::multiset<kv::PageId> released;
  std::set<uint32_t> reading;
  uint32_t announced = 0;
  bool reserved = false;
  int ends = 0;
  TimeUs now = 0;
  std::vector<BlockAnnouncement> wire;

  void on_source(const SourceActions& actions) {
    unpinned.insert(actions.unpin.begin(), actions.unpin.end());
    wire.insert(wire.end(), actions.announce.begin(), actions.announce.end());
    ends += actions.revoke ? 1 : 0;
  }

  void on_receiver(const ReceiverActions& actions) {
    released.insert(actions.release.begin(), actions.release.end());
    for (const auto& read : actions.read) reading.insert(read.index);
    if (!actions.tell_read_done.empty()) {
      on_source(source.on_read_done(actions.tell_read_done, now));
    }
    if (actions.tell.done) on_source(source.on_done(now));
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
    on_receiver(
        receiver.on_read_done(index, bad ? Status(error(Code::unavailable, "gone")) : Status()));
  }

  void finish_announcing() {
    if (announced != count) return;
    on_source(source.finish(count));
    on_receiver(receiver.on_finish(count, now));
  }

  void step() {
    now += random() % 60;
    const auto event = random() % 14;
    if (event == 0) {
      if (!std::exchange(reserved, true)) on_receiver(receiver.reserve({10, 11, 12, 13, 14, 15}));
    } else if (event == 1) {
      on_source(source.on_reserved(now));
    } else if (event <= 4) {
      if (announced < count) on_source(source.announce(block(announced++)));
    } else if (event <= 7) {
      take_from_wire();
    } else if (event <= 9) {
      end_a_read();
    } else if (event == 10) {
      finish_announcing();
    } else if (event == 11) {
      if (random() % 20 == 0) on_source(source.cancel(random() % 2 == 0));
    } else if (event == 12) {
      if (random() % 20 == 0) on_receiver(receiver.cancel(random() % 2 == 0));
    } else {
      on_source(source.on_tick(now));
      on_receiver(receiver.on_tick(now));
    }
  }

  void let_leases_end() {
    now += 2000;
    on_source(source.on_tick(now));
    on_receiver(receiver.on_tick(now));
    for (const uint32_t index : reading) {
      on_receiver(receiver.on_read_done(index, error(Code::cancelled, "cancelled")));
    }
  }
};

}  // namespace

TEST_CASE("in any order of events every page and pin comes back exactly once") {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    RandomSession session(random);
    for (int step = 0; step < 60; ++step) session.step();
    session.let_leases_end();
    REQUIRE(is_final(session.source.state()));
    REQUIRE(session.receiver.settled());
    CHECK(session.ends == 1);
    CHECK(session.unpinned.size() == session.announced);
    CHECK(std::set(session.unpinned.begin(), session.unpinned.end()).size() == session.announced);
    CHECK(std::set(session.released.begin(), session.released.end()).size() ==
          session.released.size());
    uint32_t kept = 0;
    if (session.receiver.state() == SessionState::done) kept = RandomSession::count;
    if (session.receiver.state() == SessionState::failed) {
      kept = session.receiver.num_verified_prefix();
    }
    CHECK(session.released.size() + kept == (session.reserved ? RandomSession::count : 0));
  }
}
