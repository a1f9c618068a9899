// How a worker's work ends before it is done: it drains, or it goes.
#include "actors/limits.hpp"
#include "actors/worker_logic.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {

void WorkerLogic::refuse(PeerKey client, uint64_t request_id, uint32_t choice, uint32_t attempt,
                         Error why, const char* finish) {
  metrics_.on_end({request_id, choice}, finish, why.code, now_);
  v1::Delta delta;
  delta.set_request_id(request_id);
  delta.set_choice(choice);
  delta.set_attempt(attempt);
  delta.set_finish(finish);
  *delta.mutable_failure() = schemas::to_wire(why);
  clients_[client].heard_us = now_;
  std::map<PeerKey, v1::Deltas> outgoing;
  *outgoing[client].add_deltas() = std::move(delta);
  flush(std::move(outgoing), now_);
}

void WorkerLogic::end_all(const char* finish, const Error& why) {
  struct Ended {
    ChoiceKey key;
    PeerKey client;
    uint32_t attempt;
  };
  std::vector<Ended> all;
  for (const auto& [key, choice] : choices_) all.push_back({key, choice.client, choice.attempt});
  // Choices that wait for blocks first, or the end of the hand-over would start them.
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    metrics_.on_end(it->key, finish, why.code, now_);
    end_choice(it->key, true);
    refuse(it->client, it->key.first, it->key.second, it->attempt, why, finish);
  }
}

void WorkerLogic::move_all() {
  draining_ = true;
  end_all("moved", error(Code::unavailable, "the worker drains; the request goes on elsewhere"));
}

void WorkerLogic::close(bool whole_cluster) {
  closing_ = true;
  cluster_ends_ = cluster_ends_ || whole_cluster;
  pins_.give_up(pins_.size());
  if (whole_cluster) {
    end_all("closing", error(Code::unavailable, "the cluster is going down"));
  } else {
    end_all("moved", error(Code::unavailable, "the worker is shutting down"));
  }
  while (!sources_.empty()) {
    const uint64_t session = sources_.begin()->first;
    apply(session, sources_.begin()->second.session.fail(
                       error(Code::unavailable, "the worker is shutting down")));
  }
}

uint32_t WorkerLogic::num_busy() const {
  return static_cast<uint32_t>(choices_.size() + sources_.size());
}

bool WorkerLogic::is_stalled(TimeUs now) const {
  return running_ && now - step_since_ > limits::step_stall_us;
}

}  // namespace troupe::actors
