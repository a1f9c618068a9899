// The decode side of a worker: starts, cancels, what a step drew.
#include <algorithm>
#include <bit>
#include <utility>

#include "actors/limits.hpp"
#include "actors/worker_logic.hpp"
#include "base/concat.hpp"
#include "schemas/convert.hpp"
#include "text/stop_matcher.hpp"

namespace troupe::actors {

Result<WorkerLogic::Choice> WorkerLogic::make_choice(PeerKey client, const v1::StartRequest& start,
                                                     const v1::ChoiceState& state) const {
  text::OutputText::Options options;
  options.stops.assign(start.stop().begin(), start.stop().end());
  TROUPE_TRY(text::check_stop_strings(options.stops));
  if (!parts_.tokenizer && !options.stops.empty()) {
    return error(Code::unsupported, "the model file has no tokenizer, so there are no stop strings",
                 "leave them out");
  }
  Choice choice{start.request_id(),
                start.attempt(),
                state.choice(),
                client,
                std::nullopt,
                {},
                text::OutputText(parts_.tokenizer, std::move(options)),
                {},
                false,
                0,
                {start.cache_pins().begin(), start.cache_pins().end()},
                {}};
  TROUPE_ASSIGN(choice.spec.sampling, schemas::from_wire(start.sampling()));
  TROUPE_ASSIGN(choice.spec.root, schemas::unpack_name(start.root()));
  choice.spec.sampling.choice = state.choice();
  choice.spec.drafts = start.drafts();
  choice.spec.tokens.assign(start.prompt().begin(), start.prompt().end());
  choice.spec.num_prompt_tokens = static_cast<uint32_t>(start.prompt_size());
  choice.spec.tokens.insert(choice.spec.tokens.end(), state.output().begin(), state.output().end());
  // What the client holds already is read again to know what is held back at its end.
  for (int32_t token : state.output()) (void)choice.text.push(token);
  return choice;
}

void WorkerLogic::on_start(PeerKey client, const v1::StartRequest& start, TimeUs now) {
  now_ = now;
  bool waiting = false;
  bool first = true;
  for (const v1::ChoiceState& state : start.choices()) {
    const ChoiceKey key{start.request_id(), state.choice()};
    const auto found = choices_.find(key);
    if (found != choices_.end()) {
      if (found->second.attempt >= start.attempt()) continue;
      end_choice(key, true);
    }
    metrics_.on_choice(start, state, now);
    if (closing_ || draining_) {
      refuse(client, key.first, key.second, start.attempt(),
             error(Code::unavailable, "the worker drains or shuts down"),
             cluster_ends_ ? "closing" : "moved");
      continue;
    }
    if (choices_.size() >= limits::requests_max) {
      refuse(client, key.first, key.second, start.attempt(),
             error(Code::unavailable,
                   concat("the worker has ", choices_.size(), " requests already")));
      continue;
    }
    auto choice = make_choice(client, start, state);
    if (!choice) {
      refuse(client, key.first, key.second, start.attempt(), choice.error());
      continue;
    }
    clients_[client].heard_us = now;
    if (waiting) {
      choice->session = start.session();
      choices_.emplace(key, std::move(*choice));
      continue;
    }
    if (!admit(*choice)) continue;
    Choice& added = choices_.emplace(key, std::move(*choice)).first->second;
    if (first) waiting = begin_handover(start, added, now);
    first = false;
  }
}

bool WorkerLogic::admit(Choice& choice) {
  auto id = parts_.engine.add(choice.spec);
  if (!id) {
    refuse(choice.client, choice.request_id, choice.choice, choice.attempt, id.error());
    return false;
  }
  choice.sequence = *id;
  by_sequence_[*id] = {choice.request_id, choice.choice};
  const uint32_t cached = parts_.engine.num_cached_blocks(*id);
  metrics_.on_admitted({choice.request_id, choice.choice}, *id,
                       static_cast<uint32_t>(choice.spec.tokens.size()),
                       cached * parts_.pool.layout().tokens_per_block);
  if (choice.session == 0) {
    choice.stats.set_cached_tokens(cached * parts_.pool.layout().tokens_per_block);
  }
  note_blocks(choice);
  choice.spec.tokens.clear();
  choice.spec.tokens.shrink_to_fit();
  return true;
}

bool WorkerLogic::begin_handover(const v1::StartRequest& start, Choice& first, TimeUs now) {
  if (start.session() == 0) return false;
  bool reads = false;
  if (!start.prefill().name().empty()) {
    const uint32_t per_block = parts_.pool.layout().tokens_per_block;
    reads = begin_reading(start.session(), *first.sequence, start.prefill(),
                          start.prefill_tokens() / per_block, false, now);
  } else if (!start.fetch().name().empty()) {
    reads = begin_reading(start.session(), *first.sequence, start.fetch(), start.fetch_blocks(),
                          true, now);
  }
  if (reads) first.session = start.session();
  return reads;
}

void WorkerLogic::on_handover_over(const HandoverSummary& summary) {
  now_ = std::max(now_, summary.last_read_us);
  note_fetch(summary);
  std::vector<ChoiceKey> refused;
  for (auto& [key, choice] : choices_) {
    if (choice.session != summary.session) continue;
    if (choice.sequence) {
      choice.stats.set_blocks_moved(summary.blocks_moved);
      choice.stats.set_bytes_moved(summary.bytes_moved);
      choice.stats.set_transport(summary.transport);
      choice.stats.set_transfer_us(static_cast<uint64_t>(summary.read_us));
      choice.stats.set_handover_us(static_cast<uint64_t>(summary.handover_us));
      choice.stats.set_cached_tokens(choice.stats.cached_tokens() +
                                     summary.blocks_reused * parts_.pool.layout().tokens_per_block);
      choice.stats_news = true;
      metrics_.on_handover(summary, key.first);
    } else if (!admit(choice)) {
      refused.push_back(key);
    }
    choice.session = 0;
  }
  for (const ChoiceKey& key : refused) choices_.erase(key);
}

void WorkerLogic::end_choice(ChoiceKey key, bool cancel_sequence) {
  const auto found = choices_.find(key);
  if (found == choices_.end()) return;
  if (cancel_sequence) metrics_.on_end(key, "cancelled", Code::cancelled, now_);
  const uint64_t session = found->second.session;
  const bool reads = found->second.sequence.has_value() && session != 0;
  if (found->second.sequence) {
    by_sequence_.erase(*found->second.sequence);
    if (!reads && cancel_sequence) parts_.engine.cancel(*found->second.sequence);
  }
  const auto sequence = found->second.sequence;
  choices_.erase(found);
  if (!reads) return;
  // The one that reads goes; siblings that waited for its blocks compute for themselves.
  handovers_.cancel(session, [this, sequence] { parts_.engine.cancel(*sequence); });
}

void WorkerLogic::on_cancel(uint64_t request_id, uint32_t attempt) {
  std::vector<ChoiceKey> keys;
  for (auto it = choices_.lower_bound({request_id, 0});
       it != choices_.end() && it->first.first == request_id; ++it) {
    if (it->second.attempt <= attempt) keys.push_back(it->first);
  }
  // Choices that wait first, or the end of the hand-over would start them.
  for (auto it = keys.rbegin(); it != keys.rend(); ++it) end_choice(*it, true);
  std::vector<uint64_t> sessions;
  for (const auto& [session, source] : sources_) {
    const bool known = source.sequence.has_value() || source.failure.has_value();
    if (known && source.request_id == request_id && source.attempt <= attempt) {
      sessions.push_back(session);
    }
  }
  for (uint64_t session : sessions) apply(session, sources_.at(session).session.cancel());
}

void WorkerLogic::note_waits(Choice& choice) const {
  const WorkerMetrics::Waits waits = metrics_.waits({choice.request_id, choice.choice});
  const auto handover_us = static_cast<TimeUs>(choice.stats.handover_us());
  choice.stats.set_queue_us(
      static_cast<uint64_t>(std::max<TimeUs>(0, waits.queue_us - handover_us)));
  choice.stats.set_prefill_us(static_cast<uint64_t>(std::max<TimeUs>(0, waits.prefill_us)));
}

void WorkerLogic::take_delta(const engine::Delta& in, std::map<PeerKey, v1::Deltas>& outgoing) {
  const auto owner = by_sequence_.find(in.sequence);
  if (owner == by_sequence_.end()) return;
  const ChoiceKey key = owner->second;
  Choice& choice = choices_.at(key);
  metrics_.on_draws(key, in, now_);
  if (!in.draws.empty()) pin_prompt(choice);
  // What its siblings find was computed for the same request.
  if (choice.choice == 0 && choice.stats.blocks_moved() == 0 &&
      in.taken_tokens > choice.stats.cached_tokens()) {
    choice.stats.set_cached_tokens(in.taken_tokens);
    choice.stats_news = true;
  }
  v1::Delta delta;
  delta.set_request_id(choice.request_id);
  delta.set_choice(choice.choice);
  delta.set_attempt(choice.attempt);
  delta.set_first_index(in.first_index);
  choice.stats.set_drafted(choice.stats.drafted() + in.drafted);
  choice.stats.set_accepted(choice.stats.accepted() + in.accepted_drafts);
  bool stopped = false;
  for (size_t i = 0; i < in.draws.size() && !stopped; ++i) {
    const engine::Draw& draw = in.draws[i];
    delta.add_tokens(draw.token);
    delta.add_logprob_bits(std::bit_cast<uint32_t>(draw.logprob));
    v1::TopLogprobs* top = delta.add_top_logprobs();
    for (const auto& [token, logprob] : draw.top_logprobs) {
      v1::TopLogprob* entry = top->add_entries();
      entry->set_token(token);
      entry->set_logprob_bits(std::bit_cast<uint32_t>(logprob));
    }
    const bool stop_token = in.finish == engine::FinishReason::stop && i + 1 == in.draws.size();
    if (stop_token) continue;
    auto output = choice.text.push(draw.token);
    delta.mutable_text()->append(output.text);
    stopped = output.stopped;
  }
  std::optional<std::string> finish;
  if (stopped) {
    finish = "stop";
    if (!in.finish) parts_.engine.finish(in.sequence);
  } else if (in.finish) {
    finish = engine::name(*in.finish);
    if (*in.finish != engine::FinishReason::failed) {
      auto rest = choice.text.flush();
      delta.mutable_text()->append(rest.text);
      if (rest.stopped) finish = "stop";
    }
    if (in.error) *delta.mutable_failure() = schemas::to_wire(*in.error);
  }
  if (finish) delta.set_finish(*finish);
  if (finish) note_waits(choice);
  if (finish || std::exchange(choice.stats_news, false)) *delta.mutable_stats() = choice.stats;
  const PeerKey client = choice.client;
  if (finish) {
    metrics_.on_end(key, *finish, in.error ? in.error->code : Code::ok, now_);
    end_choice(key, false);
  }
  queue(client, std::move(delta), outgoing);
}

}  // namespace troupe::actors
