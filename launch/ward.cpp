#include "launch/ward.hpp"

namespace troupe::launch {

Ward::Ward(const PlannedProcess& plan, std::string log_file)
    : plan_(plan), port_wanted_(plan.port) {
  state_.name = plan.name;
  state_.roles = plan.roles;
  state_.address = plan.address;
  state_.port = plan.port;
  state_.log_file = std::move(log_file);
}

void Ward::on_started(const ProcessId& id, int64_t now_ms, int64_t start_timeout_ms) {
  state_.id = id;
  ++state_.incarnation;
  state_.health = Health::starting;
  ready_since_ms_ = -1;
  deadline_ms_ = now_ms + start_timeout_ms;
}

void Ward::on_ready(uint16_t port, int64_t now_ms) {
  state_.port = port;
  // One that was told to stop meanwhile is still to stop.
  if (state_.health != Health::stopping) state_.health = Health::ready;
  port_wanted_ = port;
  ready_since_ms_ = now_ms;
  deadline_ms_ = -1;
}

void Ward::on_exit(std::string how, int64_t now_ms) {
  const bool was_ready = ready_since_ms_ >= 0;
  if (!was_ready) port_wanted_ = plan_.port;
  state_.id = {};
  state_.last_exit = std::move(how);
  deadline_ms_ = -1;
  if (state_.health == Health::stopping) {
    state_.health = Health::stopped;
    return;
  }
  ++failures_;
  state_.health = Health::restarting;
  deadline_ms_ = now_ms + back_off_.next_ms(was_ready ? now_ms - ready_since_ms_ : 0);
  ready_since_ms_ = -1;
}

void Ward::on_stopping() {
  state_.health = is_running() ? Health::stopping : Health::stopped;
  deadline_ms_ = -1;
}

}  // namespace troupe::launch
