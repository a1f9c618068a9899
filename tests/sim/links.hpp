// The wire between simulated processes: one connection per pair, in order, at most once, until it
// is lost; blocked directions, slow ones, and messages that come again on the next connection. No
// CAF.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "tests/sim/events.hpp"
#include "tests/sim/random.hpp"

namespace troupe::sim {

/// A process from its start to its death; its restart is another life. Counted from 1.
using LifeId = uint32_t;
using LinkId = uint64_t;

/// What the wire must know of a process.
struct Process {
  LifeId life = 0;
  size_t slot = 0;  ///< the place (name, address) that its restart takes again
  bool alive = true;
  bool paused = false;  ///< SIGSTOP: the kernel takes bytes, nobody answers
};

/// A message as the wire carries it: told on which connection it arrives.
using Delivery = std::function<void(LinkId)>;

class Links {
 public:
  Links(Events& events, Random& random) : events_(events), random_(random) {}

  /// One side learns that a connection is gone.
  std::function<void(LifeId, LinkId)> on_lost;

  Process& add(size_t slot);
  Process& process(LifeId life) { return processes_.at(life - 1); }
  /// The living process of a place, or nullptr.
  Process* at(size_t slot);

  /// Opens the connection or finds the open one; `done` may never be called (blocked, paused).
  void connect(LifeId from, size_t to, std::function<void(Result<LinkId>)> done);
  void send(LinkId link, LifeId from, Delivery deliver);
  [[nodiscard]] LifeId other_end(LinkId link, LifeId life) const;
  [[nodiscard]] bool is_up(LinkId link, LifeId side) const;
  /// Whether bytes get from one place to the other now.
  [[nodiscard]] bool passes(size_t from, size_t to) const;
  /// One way's time on the wire.
  TimeUs delay();

  // --- faults ---------------------------------------------------------------------------------
  void block(size_t from, size_t to, TimeUs duration);
  /// Connections between the two places break, what is on its way is lost.
  void reset(size_t a, size_t b);
  /// The process is gone. With `silent` (its host went) nobody is told.
  void die(LifeId life, bool silent);
  void pause(LifeId life, TimeUs duration);
  void slow_down(double factor, TimeUs duration);
  /// No new faults of chance, and blocks end.
  void calm();

  TimeUs hung_us = 10 * second;  ///< silence after which CAF drops one (actors/runtime.cpp)
  bool duplicates = false;       ///< lost connections' last messages may come again on the next

 private:
  struct Side {
    LifeId life = 0;
    bool up = true;
    TimeUs last_due = 0;
    std::deque<Delivery> held;    ///< sent by this side while its direction is blocked
    std::deque<Delivery> recent;  ///< the last ones that this side sent
  };
  struct Link {
    bool lost = false;
    Side sides[2];
  };

  void lose(LinkId id, TimeUs first_delay, TimeUs second_delay);
  void lose_later(LinkId id, TimeUs delay, std::function<bool()> still);
  void transmit(LinkId id, size_t side, Delivery deliver);
  void release(size_t from, size_t to);
  void repeat(LinkId id);
  std::vector<LinkId> links_of(LifeId life) const;
  std::vector<LinkId> links_between(size_t a, size_t b);
  size_t side_of(const Link& link, LifeId life) const { return link.sides[0].life == life ? 0 : 1; }

  Events& events_;
  Random& random_;
  std::deque<Process> processes_;
  std::map<LinkId, Link> links_;
  LinkId last_link_ = 0;
  std::map<std::pair<size_t, size_t>, TimeUs> blocked_until_;
  std::map<std::pair<LifeId, LifeId>, std::deque<Delivery>> ghosts_;  ///< from, to
  double slowness_ = 1;
};

}  // namespace troupe::sim
