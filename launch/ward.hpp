// One process in the care of the supervisor: its life as a state machine without any system call.
#pragma once

#include <cstdint>
#include <string>

#include "launch/back_off.hpp"
#include "launch/child.hpp"
#include "launch/cluster_state.hpp"
#include "launch/plan.hpp"

namespace troupe::launch {

class Ward {
 public:
  Ward(const PlannedProcess& plan, std::string log_file);

  /// A new incarnation runs and must be ready by the deadline.
  void on_started(const ProcessId& id, int64_t now_ms, int64_t start_timeout_ms);

  /// It said "ready <port>". Changes nothing of its stopping.
  void on_ready(uint16_t port, int64_t now_ms);

  /// It is dead; a restart is due after the back-off, unless it was told to stop.
  void on_exit(std::string how, int64_t now_ms);

  /// It was told to stop; it counts as stopped at once if it does not run.
  void on_stopping();

  [[nodiscard]] const ProcessState& state() const { return state_; }
  [[nodiscard]] const PlannedProcess& plan() const { return plan_; }
  [[nodiscard]] bool is_running() const { return state_.id.pid != 0; }
  [[nodiscard]] uint64_t next_incarnation() const { return state_.incarnation + 1; }

  /// When something is due: the end of the start time, or the restart. Negative: nothing is.
  [[nodiscard]] int64_t deadline_ms() const { return deadline_ms_; }
  void clear_deadline() { deadline_ms_ = -1; }

  /// Deaths, and starts in vain, so far.
  [[nodiscard]] int failures() const { return failures_; }

  /// The port to ask for: the one it had, so that its peers find it where it was; the manifest's if
  /// the last start did not get that far.
  [[nodiscard]] uint16_t port_wanted() const { return port_wanted_; }

 private:
  PlannedProcess plan_;
  ProcessState state_;
  BackOff back_off_;
  int64_t deadline_ms_ = -1;
  int64_t ready_since_ms_ = -1;
  int failures_ = 0;
  uint16_t port_wanted_ = 0;
};

}  // namespace troupe::launch
