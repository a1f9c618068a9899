#include "actors/worker_metrics.hpp"

namespace troupe::actors {
namespace {

/// Another attempt on this worker: what the last one said is over, but for what the client has.
void begin_again(v1::RequestTimeline& told) {
  v1::RequestTimeline kept = told;
  kept.clear_stages();
  for (const v1::StageTime& entry : told.stages()) {
    if (entry.stage() < v1::STAGE_STARTED || entry.stage() == v1::STAGE_FIRST_TOKEN) {
      *kept.add_stages() = entry;
    }
  }
  kept.clear_finish();
  kept.clear_failure_code();
  kept.clear_output_tokens();
  told = std::move(kept);
}

}  // namespace

WorkerMetrics::WorkerMetrics(std::shared_ptr<Metrics> metrics)
    : metrics_(metrics ? std::move(metrics) : std::make_shared<Metrics>()) {}

void WorkerMetrics::on_choice(const v1::StartRequest& start, const v1::ChoiceState& state,
                              TimeUs now) {
  running_[{start.request_id(), state.choice()}] = {now, state.output_size() > 0, 0, 0, 0};
  metrics_->add(v1::METRIC_CHOICES_STARTED);
  metrics_->change_request(start.request_id(), [&](v1::RequestTimeline& told) {
    if (told.attempt() != start.attempt()) begin_again(told);
    told.set_attempt(start.attempt());
    told.set_prompt_tokens(static_cast<uint32_t>(start.prompt_size()));
    told.set_choices(static_cast<uint32_t>(start.choices_size()));
    told.set_output_tokens(told.output_tokens() + static_cast<uint32_t>(state.output_size()));
    reach(told, v1::STAGE_STARTED, now);
  });
}

void WorkerMetrics::on_admitted(ChoiceKey key, engine::SequenceId sequence, uint32_t num_tokens,
                                uint32_t cached_tokens) {
  const auto found = running_.find(key);
  if (found == running_.end()) return;
  found->second.sequence = sequence;
  queued_[sequence] = key;
  metrics_->add(v1::METRIC_PROMPT_TOKENS, num_tokens);
  if (key.second != 0) return;
  metrics_->change_request(
      key.first, [&](v1::RequestTimeline& told) { told.set_cached_tokens(cached_tokens); });
}

void WorkerMetrics::on_handover(const HandoverSummary& summary, uint64_t request_id) {
  metrics_->add(summary.failure ? v1::METRIC_FAILED_HANDOVERS : v1::METRIC_HANDOVERS);
  metrics_->add(v1::METRIC_MOVED_BLOCKS, summary.blocks_moved);
  if (summary.blocks_moved > 0) {
    metrics_->observe(v1::DISTRIBUTION_HANDOVER, summary.handover_us);
  }
  metrics_->change_request(request_id, [&](v1::RequestTimeline& told) {
    told.set_blocks_moved(summary.blocks_moved);
    told.set_bytes_moved(summary.bytes_moved);
    told.set_transport(summary.transport);
    if (summary.blocks_moved == 0) return;
    reach(told, v1::STAGE_TRANSFER_STARTED, summary.last_read_us - summary.handover_us);
    reach(told, v1::STAGE_TRANSFER_DONE, summary.last_read_us);
  });
}

WorkerMetrics::Waits WorkerMetrics::waits(ChoiceKey key) const {
  const auto found = running_.find(key);
  if (found == running_.end() || found->second.first_step_us == 0) return {};
  const Running& choice = found->second;
  return {choice.first_step_us - choice.started_us, choice.first_token_us - choice.first_step_us};
}

void WorkerMetrics::on_draws(ChoiceKey key, const engine::Delta& delta, TimeUs now) {
  const auto found = running_.find(key);
  if (found == running_.end() || delta.draws.empty()) return;
  Running& choice = found->second;
  const size_t drawn = delta.draws.size();
  const bool first = choice.first_token_us == 0;
  if (first) {
    choice.first_token_us = now;
    if (!choice.resumed) metrics_->observe(v1::DISTRIBUTION_TTFT, now - choice.started_us);
  } else {
    metrics_->observe(v1::DISTRIBUTION_ITL,
                      (now - choice.last_token_us) / static_cast<TimeUs>(drawn), drawn);
  }
  choice.last_token_us = now;
  metrics_->change_request(key.first, [&](v1::RequestTimeline& told) {
    told.set_output_tokens(told.output_tokens() + static_cast<uint32_t>(drawn));
    told.set_drafted_tokens(told.drafted_tokens() + delta.drafted);
    told.set_accepted_tokens(told.accepted_tokens() + delta.accepted_drafts);
    if (first) reach(told, v1::STAGE_FIRST_TOKEN, now);
  });
}

void WorkerMetrics::on_end(ChoiceKey key, const std::string& finish, Code failure, TimeUs now) {
  const auto found = running_.find(key);
  if (found == running_.end()) return;
  const TimeUs first_token_us = found->second.first_token_us;
  queued_.erase(found->second.sequence);
  running_.erase(found);
  if (first_token_us != 0) metrics_->observe(v1::DISTRIBUTION_DECODE, now - first_token_us);
  const bool finished = finish == "stop" || finish == "length";
  metrics_->add(finished                ? v1::METRIC_CHOICES_FINISHED
                : finish == "cancelled" ? v1::METRIC_CHOICES_CANCELLED
                : finish == "moved"     ? v1::METRIC_CHOICES_MOVED
                                        : v1::METRIC_CHOICES_FAILED);
  const auto sibling = running_.lower_bound({key.first, 0});
  if (sibling != running_.end() && sibling->first.first == key.first) return;
  metrics_->change_request(key.first, [&](v1::RequestTimeline& told) {
    told.set_finish(finish);
    told.set_failure_code(static_cast<uint32_t>(failure));
    reach(told, v1::STAGE_DONE, now);
  });
}

void WorkerMetrics::on_prefill(const v1::PrefillRequest& request, TimeUs now) {
  metrics_->add(v1::METRIC_PREFILLS_STARTED);
  metrics_->add(v1::METRIC_PROMPT_TOKENS, static_cast<uint64_t>(request.tokens_size()));
  metrics_->change_request(request.request_id(), [&](v1::RequestTimeline& told) {
    told.set_attempt(std::max(told.attempt(), request.attempt()));
    reach(told, v1::STAGE_PREFILL_STARTED, now);
  });
}

void WorkerMetrics::on_prefill_chunk(uint64_t request_id) {
  metrics_->add(v1::METRIC_PREFILL_CHUNKS);
  metrics_->change_request(request_id, [](v1::RequestTimeline& told) {
    told.set_prefill_chunks(told.prefill_chunks() + 1);
  });
}

void WorkerMetrics::on_prefill_done(uint64_t request_id, TimeUs now) {
  metrics_->add(v1::METRIC_PREFILLS_DONE);
  TimeUs started_us = 0;
  metrics_->change_request(request_id, [&](v1::RequestTimeline& told) {
    started_us = reached(told, v1::STAGE_PREFILL_STARTED);
    reach(told, v1::STAGE_PREFILL_DONE, now);
  });
  if (started_us != 0) metrics_->observe(v1::DISTRIBUTION_PREFILL, now - started_us);
}

void WorkerMetrics::on_plan(const engine::StepPlan& plan, TimeUs now) {
  step_began_us_ = now;
  if (queued_.empty()) return;
  for (const engine::Span& span : plan.spans) {
    const auto found = queued_.find(span.sequence);
    if (found == queued_.end()) continue;
    const ChoiceKey key = found->second;
    queued_.erase(found);
    const auto choice = running_.find(key);
    if (choice == running_.end()) continue;
    choice->second.first_step_us = now;
    metrics_->observe(v1::DISTRIBUTION_QUEUE, now - choice->second.started_us);
    metrics_->change_request(
        key.first, [&](v1::RequestTimeline& told) { reach(told, v1::STAGE_SCHEDULED, now); });
  }
}

void WorkerMetrics::on_step_done(TimeUs now) {
  metrics_->observe(v1::DISTRIBUTION_STEP, now - step_began_us_);
}

void WorkerMetrics::on_load(const v1::LoadReport& load, const engine::EngineStats& stats) {
  metrics_->set(v1::METRIC_WAITING_SEQUENCES, load.waiting());
  metrics_->set(v1::METRIC_RUNNING_SEQUENCES, load.running());
  metrics_->set(v1::METRIC_TRANSFER_SESSIONS, load.sessions());
  metrics_->set(v1::METRIC_DEVICE_BLOCKS, load.blocks_total());
  metrics_->set(v1::METRIC_DEVICE_BLOCKS_FREE, load.blocks_free());
  metrics_->set(v1::METRIC_DEVICE_BLOCKS_INDEXED, load.blocks_indexed());
  metrics_->set(v1::METRIC_DEVICE_BLOCKS_PINNED, load.blocks_pinned());
  metrics_->set(v1::METRIC_FETCHED_BLOCKS, load.blocks_fetched());
  metrics_->set(v1::METRIC_STEPS, stats.steps);
  metrics_->set(v1::METRIC_PREFILL_TOKENS, stats.prefill_tokens);
  metrics_->set(v1::METRIC_DECODE_TOKENS, stats.decode_tokens);
  metrics_->set(v1::METRIC_CACHED_TOKENS, stats.cached_tokens);
  metrics_->set(v1::METRIC_DRAFTED_TOKENS, stats.drafted);
  metrics_->set(v1::METRIC_ACCEPTED_TOKENS, stats.accepted);
  metrics_->set(v1::METRIC_PREEMPTIONS, stats.preemptions);
}

void WorkerMetrics::on_transport(const transport::TransportStats& stats) {
  metrics_->set(v1::METRIC_READ_BYTES_SAME_PROCESS, stats.bytes_same_process);
  metrics_->set(v1::METRIC_READ_BYTES_SHARED_MEMORY, stats.bytes_shared_memory);
  metrics_->set(v1::METRIC_READ_BYTES_TCP, stats.bytes_tcp);
  metrics_->set(v1::METRIC_FAILED_READS, stats.reads_failed);
  metrics_->set(v1::METRIC_BAD_CHECKSUMS, stats.checksum_failures);
  metrics_->set(v1::METRIC_SERVED_BYTES_TCP, stats.bytes_served);
  metrics_->set(v1::METRIC_REFUSED_CONNECTIONS, stats.connections_refused);
}

}  // namespace troupe::actors
