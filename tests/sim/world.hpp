// The world of one run: it steps through jobs, timers and events, injects the faults of the plan,
// and looks at the invariants after each step.
#pragma once

#include <caf/scheduler/test_coordinator.hpp>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/concat.hpp"
#include "tests/sim/cast.hpp"
#include "tests/sim/expected.hpp"
#include "tests/sim/run.hpp"

namespace troupe::sim {

/// A run with more is stuck.
inline constexpr uint64_t events_max = 5'000'000;

class World {
 public:
  /// `plan` was made from `random`.
  World(uint64_t seed, Random random, Plan plan, bool trace);
  ~World();

  RunReport run();

 private:
  struct Config : caf::actor_system_config {
    Config();
  };
  struct Request {
    const RequestPlan* plan = nullptr;
    uint64_t id = 0;
    LifeId client = 0;
    Watched watched;
    bool started = false, cancelled = false, abandoned = false;
    TimeUs started_us = 0;
  };

  // --- time -----------------------------------------------------------------------------------
  bool step();
  caf::resumable* take_job();
  void advance_to(TimeUs due);
  void check_after(LifeId life);
  void check_timers();
  void fail(const std::string& what);
  [[nodiscard]] bool failed() const { return !report_.violation.empty(); }
  /// Steps until `done`; false when the deadline came first.
  template <class Done>
  bool run_until(TimeUs deadline, Done done);

  // --- what happens ---------------------------------------------------------------------------
  void start_life(size_t slot);
  Life* at(size_t slot);
  Life* life(LifeId id) { return lives_.at(id - 1).get(); }
  void end_life(Life& life, bool silent);
  void restart_later(size_t slot, TimeUs delay);
  void inject(const FaultPlan& fault);
  void drain(size_t slot, TimeUs duration);
  void hang(Life& life, TimeUs duration);
  void end_faults();
  /// Work that nobody is heard of goes on for a bounded time.
  void watch_silence();
  void start_request(Request& request);
  void cancel_request(Request& request);

  // --- the end --------------------------------------------------------------------------------
  [[nodiscard]] bool all_ended() const;
  [[nodiscard]] std::string unfinished() const;
  void settle();
  [[nodiscard]] std::string still_running() const;
  [[nodiscard]] std::string left_over() const;
  static std::string differs(actors::RouterState& state, const Life& one, size_t& blocks);
  [[nodiscard]] std::string inexact_router() const;
  [[nodiscard]] std::string inexact_monitor() const;
  [[nodiscard]] std::string wrong_failure(const Request& request) const;
  void count();
  void close();

  Config config_;
  Random random_;
  Events events_;
  Plan plan_;
  std::unique_ptr<caf::actor_system> system_;
  caf::scheduler::test_coordinator& scheduler_;
  Links links_;
  Reads reads_;
  Fabric fabric_;
  Stage stage_;
  std::vector<std::unique_ptr<Life>> lives_;  ///< by LifeId - 1
  std::vector<std::unique_ptr<Request>> requests_;
  std::set<uint64_t> hanging_;  ///< actors whose loops stand
  bool calm_ = false;
  bool trace_;
  RunReport report_;
};

template <class Done>
bool World::run_until(TimeUs deadline, Done done) {
  while (!failed() && !done()) {
    if (events_.now > deadline) return false;
    if (report_.events > events_max) {
      fail(concat("no end after ", events_max, " events"));
    } else if (!step()) {
      fail("nothing is left that could ever happen");
    }
  }
  return true;
}

}  // namespace troupe::sim
