// The worker's loop: plan, submit, accept; time-outs; what is said of its load.
#include "actors/limits.hpp"
#include "actors/worker_logic.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "kv/limits.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {

WorkerLogic::WorkerLogic(WorkerParts parts, WorkerPorts ports)
    : parts_(std::move(parts)),
      ports_(std::move(ports)),
      handovers_(parts_.engine, ports_.handover,
                 [this](const HandoverSummary& summary) { on_handover_over(summary); }),
      metrics_(parts_.metrics),
      offers_(pages_of(parts_.pool, parts_.index), parts_.transport_address, parts_.fingerprint,
              {ports_.send_offer, ports_.draw_session, ports_.grant, ports_.revoke,
               ports_.revoke_page}),
      pins_(parts_.pool, parts_.index, parts_.pool.num_pages() / kv::limits::pinned_share) {}

void WorkerLogic::pump() {
  start_step();
  const bool starved = !running_ && offers_.num_sessions() > 0 && parts_.pool.num_free() == 0 &&
                       parts_.engine.stats().waiting > 0;
  if (starved) {
    // Somebody waits for pages that a store has not read yet.
    offers_.drop_all();
    start_step();
  }
  // No request waits for the end of a pin's time.
  while (!running_ && parts_.engine.is_stalled() && pins_.give_up(limits::pins_given_up) > 0) {
    start_step();
  }
  offers_.pump(now_);
}

void WorkerLogic::start_step() {
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
  step_since_ = now_;
  metrics_.on_plan(plan, now_);
  ports_.submit(std::move(plan));
}

void WorkerLogic::on_step_done(Result<engine::StepResult> result, TimeUs now) {
  now_ = now;
  running_ = false;
  metrics_.on_step_done(now);
  if (!result) log_error("worker", "a step failed: " + result.error().message());
  take_outcome(result ? parts_.engine.accept(*result) : parts_.engine.reject(result.error()), now);
}

void WorkerLogic::take_outcome(const engine::Outcome& outcome, TimeUs now) {
  Announces announces;
  std::set<uint64_t> prefills;
  for (const engine::BlockReady& ready : outcome.blocks) {
    if (!came_from_store(ready)) offers_.add(ready.name, ready.root);
    take_block(ready, announces);
    const auto owner = source_by_sequence_.find(ready.sequence);
    if (owner == source_by_sequence_.end()) continue;
    const auto source = sources_.find(owner->second);
    if (source != sources_.end()) prefills.insert(source->second.request_id);
  }
  for (const uint64_t request_id : prefills) metrics_.on_prefill_chunk(request_id);
  std::map<PeerKey, v1::Deltas> outgoing;
  for (const engine::Delta& delta : outcome.deltas) {
    const auto owner = source_by_sequence_.find(delta.sequence);
    if (owner == source_by_sequence_.end()) {
      take_delta(delta, outgoing);
      continue;
    }
    if (!delta.finish) continue;
    const uint64_t session = owner->second;
    Source& source = sources_.at(session);
    source.prefilled = true;
    metrics_.on_prefill_done(source.request_id, now);
    if (delta.error) {
      apply(session, source.session.fail(*delta.error));
      announces.erase(session);
    } else {
      apply(session, source.session.finish(), announces[session]);
    }
  }
  for (const auto& [session, announce] : announces) {
    const auto source = sources_.find(session);
    if (source == sources_.end() || (announce.blocks_size() == 0 && !announce.last())) continue;
    tell_reader(source->second.reader, announce);
  }
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
    if (source.reader == peer || source.client == peer) sessions.push_back(session);
  }
  for (uint64_t session : sessions) {
    Source& source = sources_.at(session);
    apply(session, source.reader == peer ? source.session.on_peer_down() : source.session.cancel());
  }
  clients_.erase(peer);
  if (offers_.store() == peer) offers_.set_store(std::nullopt);
}

void WorkerLogic::on_tick(TimeUs now) {
  now_ = now;
  metrics_.on_load(load(now), parts_.engine.stats());
  handovers_.on_tick(now);
  offers_.on_tick(now);
  pins_.expire(now);
  std::vector<uint64_t> sessions;
  for (const auto& [session, source] : sources_) sessions.push_back(session);
  for (uint64_t session : sessions) {
    Source& source = sources_.at(session);
    const bool waits = source.reader && !source.sequence && !source.by_name;
    if (waits && now - source.since_us > limits::prompt_wait_us) {
      apply(session,
            source.session.fail(error(Code::timeout, "the prompt to compute did not come")));
      continue;
    }
    const transport::SourceActions actions = source.session.on_tick(now);
    if (actions.over) {
      log_warning("worker", "a session was not read to its end within its lease");
    }
    apply(session, actions);
  }
  drop_lost_clients(now);
}

v1::LoadReport WorkerLogic::load(TimeUs now) const {
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
  load.set_sessions(
      static_cast<uint32_t>(sources_.size() + handovers_.size() + offers_.num_sessions()));
  load.set_blocks_fetched(blocks_fetched_);
  load.set_fetch_bytes_per_us(fetch_bytes_per_us_);
  load.set_blocks_corrupt(blocks_corrupt_);
  load.set_blocks_offered(offers_.num_offered());
  load.set_offers_dropped(offers_.num_dropped());
  load.set_blocks_pinned(static_cast<uint32_t>(pins_.size()));
  load.set_draining(draining_ || closing_);
  load.set_stalled(is_stalled(now));
  return load;
}

}  // namespace troupe::actors
