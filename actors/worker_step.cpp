// The worker's loop: plan, submit, accept; time-outs; what is said of its load.
#include "actors/limits.hpp"
#include "actors/worker_logic.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {

WorkerLogic::WorkerLogic(WorkerParts parts, WorkerPorts ports)
    : parts_(std::move(parts)),
      ports_(std::move(ports)),
      handovers_(parts_.engine, ports_.handover,
                 [this](const HandoverSummary& summary) { on_handover_over(summary); }) {}

void WorkerLogic::pump() {
  if (running_ || !parts_.engine.has_work()) return;
  engine::StepPlan plan = parts_.engine.plan();
  if (plan.spans.empty()) {
    // Nothing to compute, but maybe something to say (cached blocks of a prefill).
    engine::StepResult nothing;
    nothing.step = plan.step;
    take_outcome(parts_.engine.accept(nothing), now_);
    return;
  }
  running_ = true;
  ports_.submit(std::move(plan));
}

void WorkerLogic::on_step_done(Result<engine::StepResult> result, TimeUs now) {
  now_ = now;
  running_ = false;
  if (!result) log_error("worker", "a step failed: " + result.error().message());
  take_outcome(result ? parts_.engine.accept(*result) : parts_.engine.reject(result.error()), now);
}

void WorkerLogic::take_outcome(const engine::Outcome& outcome, TimeUs now) {
  std::set<uint64_t> touched;
  for (const engine::BlockReady& ready : outcome.blocks) {
    take_block(ready);
    const auto owner = source_by_sequence_.find(ready.sequence);
    if (owner != source_by_sequence_.end()) touched.insert(owner->second);
  }
  std::map<PeerKey, v1::Deltas> outgoing;
  for (const engine::Delta& delta : outcome.deltas) {
    const auto owner = source_by_sequence_.find(delta.sequence);
    if (owner == source_by_sequence_.end()) {
      take_delta(delta, outgoing, now);
      continue;
    }
    if (!delta.finish) continue;
    Source& source = sources_.at(owner->second);
    source.prefilled = true;
    if (delta.error && source.reader) {
      v1::Announce announce;
      announce.set_session(source.session);
      *announce.mutable_failure() = schemas::to_wire(*delta.error);
      ports_.send_announce(*source.reader, announce);
    }
    touched.insert(owner->second);
  }
  for (uint64_t session : touched) announce_ready(sources_.at(session));
  flush(std::move(outgoing), now);
}

void WorkerLogic::on_peer_down(PeerKey peer) {
  std::vector<ChoiceKey> choices;
  for (const auto& [key, choice] : choices_) {
    if (choice.client == peer) choices.push_back(key);
  }
  for (auto it = choices.rbegin(); it != choices.rend(); ++it) end_choice(*it, true);
  std::vector<uint64_t> sessions;
  for (const auto& [session, source] : sources_) {
    if (source.reader == peer) sessions.push_back(session);
  }
  for (uint64_t session : sessions) end_source(session);
  clients_.erase(peer);
}

void WorkerLogic::on_tick(TimeUs now) {
  now_ = now;
  handovers_.on_tick(now);
  std::vector<uint64_t> over;
  for (auto& [session, source] : sources_) {
    if (source.sequence && !source.prefilled) {
      // News for a reader that waits while others are computed.
      if (source.reader) {
        v1::Announce alive;
        alive.set_session(session);
        ports_.send_announce(*source.reader, alive);
      }
      continue;
    }
    if (now > source.lease_end_us) over.push_back(session);
  }
  for (uint64_t session : over) {
    log_warning("worker", "a session was not read to its end within its lease");
    end_source(session);
  }
  std::vector<PeerKey> slow;
  for (const auto& [key, client] : clients_) {
    const bool late =
        client.waiting_since_us != 0 && now - client.waiting_since_us > limits::slow_client_us;
    if (late || client.held_bytes > limits::held_bytes_max) slow.push_back(key);
  }
  for (PeerKey key : slow) {
    log_warning("worker", "a client takes no output; its requests end");
    drop_slow_client(key);
  }
}

void WorkerLogic::close() {
  closing_ = true;
  std::vector<std::pair<ChoiceKey, std::pair<PeerKey, uint32_t>>> all;
  for (const auto& [key, choice] : choices_) {
    all.push_back({key, {choice.client, choice.attempt}});
  }
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    end_choice(it->first, true);
    fail(it->second.first, it->first.first, it->first.second, it->second.second,
         error(Code::unavailable, "the worker is shutting down"));
  }
  while (!sources_.empty()) {
    const Source& source = sources_.begin()->second;
    if (source.reader) {
      v1::Announce announce;
      announce.set_session(source.session);
      *announce.mutable_failure() =
          schemas::to_wire(error(Code::unavailable, "the worker is shutting down"));
      ports_.send_announce(*source.reader, announce);
    }
    end_source(source.session);
  }
}

v1::LoadReport WorkerLogic::load() const {
  const engine::EngineStats stats = parts_.engine.stats();
  v1::LoadReport load;
  load.set_waiting(stats.waiting);
  load.set_running(stats.running);
  load.set_blocks_free(parts_.pool.num_free() + parts_.index.num_evictable());
  load.set_blocks_total(parts_.pool.num_pages());
  load.set_blocks_indexed(static_cast<uint32_t>(parts_.index.size()));
  load.set_steps(stats.steps);
  load.set_prefill_tokens(stats.prefill_tokens);
  load.set_decode_tokens(stats.decode_tokens);
  load.set_drafted(stats.drafted);
  load.set_accepted(stats.accepted);
  load.set_cached_tokens(stats.cached_tokens);
  load.set_sessions(static_cast<uint32_t>(sources_.size() + handovers_.size()));
  return load;
}

}  // namespace troupe::actors
