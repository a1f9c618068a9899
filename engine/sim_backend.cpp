#include "engine/sim_backend.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <span>
#include <thread>

#include "base/concat.hpp"
#include "engine/sim_draw.hpp"
#include "kv/layer_groups.hpp"

namespace troupe::engine {

namespace {

/// A span's pages of one layer group.
std::span<const kv::PageId> table_of(const Span& span, uint32_t group, uint32_t groups) {
  const size_t blocks = span.block_table.size() / groups;
  return std::span(span.block_table).subspan(group * blocks, blocks);
}

}  // namespace

kv::KvLayout sim_layout(uint32_t tokens_per_block, const std::vector<uint32_t>& windows) {
  kv::KvLayout layout{.num_layers = 1,
                      .num_kv_heads = 1,
                      .head_dim = 8,
                      .tokens_per_block = tokens_per_block,
                      .type = kv::KvType::f32};
  std::vector<uint32_t> layers = windows;
  layers.insert(layers.begin(), 0);
  kv::group_layers(layout, layers);
  return layout;
}

SimBackend::SimBackend(SimOptions options)
    : options_(std::move(options)),
      capabilities_{.name = "sim",
                    .numerics_id = concat("sim/1/", options_.memory_tokens),
                    .vocab_size = options_.vocab_size,
                    .context_max = options_.context_max,
                    .step_tokens_max = options_.step_tokens_max,
                    .launch_ahead = false,
                    .host_memory = true,
                    .checks_pages = true},
      layout_(sim_layout(64, options_.windows)) {}

Status SimBackend::attach_pool(kv::Region region) {
  slots_.emplace(std::move(region), layout_);
  return {};
}

Result<Ticket> SimBackend::submit(StepPlan plan) {
  if (!slots_.has_value()) {
    return error(Code::failed_precondition, "no pool is attached to the simulated device");
  }
  if (options_.failing_step != 0 && plan.step == options_.failing_step) {
    return error(Code::internal,
                 concat("the simulated device was told to refuse step ", plan.step));
  }
  if (plan.num_tokens() > options_.step_tokens_max) {
    return error(Code::invalid_argument, concat("the plan has ", plan.num_tokens(), " tokens"),
                 concat("at most ", options_.step_tokens_max));
  }
  const int64_t cost_us =
      options_.us_per_step + options_.us_per_token * static_cast<int64_t>(plan.num_tokens());
  const TimeUs start_us = jobs_.empty() ? now() : std::max(now(), jobs_.back().due_us);
  jobs_.push_back({++last_ticket_, std::move(plan), start_us + cost_us, options_.polls_until_done});
  return Ticket{last_ticket_};
}

bool SimBackend::poll(Ticket ticket) {
  for (Job& job : jobs_) {
    if (job.ticket != ticket.step) continue;
    if (job.polls_left > 0) {
      --job.polls_left;
      return false;
    }
    return now() >= job.due_us;
  }
  return true;
}

Result<StepResult> SimBackend::wait(Ticket ticket) {
  if (jobs_.empty() || jobs_.front().ticket != ticket.step) {
    return error(Code::failed_precondition,
                 concat("ticket ", ticket.step, " is not the oldest that is outstanding"),
                 "take results in the order of submission, each once");
  }
  const Job job = std::move(jobs_.front());
  jobs_.erase(jobs_.begin());
  if (!options_.clock && job.due_us > now()) {
    std::this_thread::sleep_for(std::chrono::microseconds(job.due_us - now()));
  }
  return compute(job.plan);
}

StepResult SimBackend::compute(const StepPlan& plan) {
  StepResult result;
  result.step = plan.step;
  // Spans of a step run side by side on a real device: a written page has no other user then.
  std::map<kv::PageId, const Span*> writers;
  for (const Span& span : plan.spans) {
    if (!span.write_kv) continue;
    for (uint32_t group = 0; group < layout_.num_groups(); ++group) {
      const auto table = table_of(span, group, layout_.num_groups());
      for (size_t i = span.first_position / layout_.tokens_per_block; i < table.size(); ++i) {
        writers.emplace(table[i], &span);
      }
    }
  }
  for (const Span& span : plan.spans) {
    SpanResult span_result = compute(span);
    for (const kv::PageId page : span.block_table) {
      const auto writer = writers.find(page);
      if (writer == writers.end() || writer->second == &span || span_result.error) continue;
      span_result.error = error(Code::corrupt, concat("page ", page, " of sequence ", span.sequence,
                                                      " is written by sequence ",
                                                      writer->second->sequence, " in this step"));
    }
    result.spans.push_back(std::move(span_result));
  }
  result.compute_us =
      options_.us_per_step + options_.us_per_token * static_cast<int64_t>(plan.num_tokens());
  return result;
}

SpanResult SimBackend::compute(const Span& span) {
  Result<SpanResult> result = run(span);
  if (result.ok()) return std::move(result).value();
  SpanResult failed;
  failed.error = std::move(result).error();
  failed.error->what = concat("sequence ", span.sequence, ": ", failed.error->what);
  return failed;
}

Status SimBackend::check(const Span& span) const {
  const size_t end = size_t{span.first_position} + span.tokens.size();
  if (span.tokens.empty() || span.num_draws > span.tokens.size()) {
    return error(Code::invalid_argument, concat("a span of ", span.tokens.size(), " tokens with ",
                                                span.num_draws, " draws"));
  }
  if (end > options_.context_max) {
    return error(Code::invalid_argument, concat("position ", end - 1, " is outside the context"));
  }
  TROUPE_TRY(check_pages(span));
  for (const InputToken& token : span.tokens) {
    if (token.from_slot >= 0) {
      return error(Code::unsupported, "the simulated device can't be launched ahead");
    }
    if (token.value < 0 || static_cast<uint32_t>(token.value) >= options_.vocab_size) {
      return error(Code::invalid_argument,
                   concat("token ", token.value, " is outside the vocabulary"));
    }
    if (token.value == options_.failing_token) {
      return error(Code::internal, concat("NaN in the logits after token ", token.value));
    }
  }
  if (span.num_draws > 0 && (span.sampling == nullptr || span.history == nullptr)) {
    return error(Code::invalid_argument, "a span that draws has no sampling parameters or history");
  }
  if (span.num_draws > 0 && span.history->tokens.size() != end - span.num_draws + 1) {
    return error(Code::invalid_argument,
                 concat("the history has ", span.history->tokens.size(), " tokens, the span needs ",
                        end - span.num_draws + 1));
  }
  if (!span.score_targets.empty() && span.score_targets.size() != span.tokens.size()) {
    return error(Code::invalid_argument, concat(span.score_targets.size(), " score targets for ",
                                                span.tokens.size(), " tokens"));
  }
  for (const int32_t target : span.score_targets) {
    if (target >= 0 && static_cast<uint32_t>(target) >= options_.vocab_size) {
      return error(Code::invalid_argument, concat("score target ", target, " is no token"));
    }
  }
  return {};
}

Status SimBackend::check_pages(const Span& span) const {
  const size_t end = size_t{span.first_position} + span.tokens.size();
  const size_t pages = (end + layout_.tokens_per_block - 1) / layout_.tokens_per_block;
  const uint32_t groups = layout_.num_groups();
  if (span.block_table.size() < pages * groups) {
    return error(Code::invalid_argument, concat("the block table has ", span.block_table.size(),
                                                " pages, the span needs ", pages * groups));
  }
  for (uint32_t group = 0; group < groups; ++group) {
    const auto table = table_of(span, group, groups);
    const uint32_t first = layout_.first_block(group, span.first_position);
    for (size_t block = 0; block < table.size(); ++block) {
      const bool may_lack = block < first && table[block] == kv::no_page;
      if (table[block] >= slots_->num_pages() && !may_lack) {
        return error(Code::invalid_argument, concat("page ", table[block], " is outside the pool"));
      }
    }
  }
  return {};
}

Status SimBackend::check_windows(const Span& span) const {
  const uint32_t groups = layout_.num_groups();
  for (uint32_t group = 1; group < groups; ++group) {
    const uint32_t window = layout_.windows[group], end = span.first_position;
    for (uint32_t position = end >= window ? end + 1 - window : 0; position < end; ++position) {
      TROUPE_ASSIGN(const SimSlots::Slot slot,
                    slots_->read(table_of(span, group, groups), position));
      TROUPE_ASSIGN(const SimSlots::Slot expected,
                    slots_->read(table_of(span, 0, groups), position));
      if (slot.chain == expected.chain && slot.token == expected.token) continue;
      return error(Code::corrupt, concat("the KV slot of position ", position, " in layer group ",
                                         group, " is not of this sequence"));
    }
  }
  return {};
}

/// Reads what precedes the span from its pages, checking that each token follows the one before it
/// and is the one that the sequence has there.
Result<SimBackend::Past> SimBackend::read_past(const Span& span) const {
  const uint32_t end = span.first_position;
  Past past;
  uint32_t from = 0;
  if (!options_.verify_all) {
    const uint32_t memory = std::max(options_.memory_tokens, 1u);
    from = std::min(end / layout_.tokens_per_block * layout_.tokens_per_block,
                    end > memory ? end - memory : 0);
  }
  for (uint32_t position = from; position < end; ++position) {
    TROUPE_ASSIGN(const SimSlots::Slot slot,
                  slots_->read(table_of(span, 0, layout_.num_groups()), position));
    const bool linked = (position == from && from > 0) ||
                        slot.chain == SimSlots::link(past.chain, slot.token, position);
    if (!linked) {
      return error(Code::corrupt, concat("the KV slot of position ", position, " in page ",
                                         span.block_table[position / layout_.tokens_per_block],
                                         " does not follow the one before it"));
    }
    if (span.history != nullptr && span.history->tokens[position] != slot.token) {
      return error(Code::corrupt,
                   concat("the KV slot of position ", position, " holds token ", slot.token,
                          ", the sequence has token ", span.history->tokens[position], " there"));
    }
    past.chain = slot.chain;
    past.remember(slot.token, options_.memory_tokens);
  }
  return past;
}

void SimBackend::Past::remember(int32_t token, uint32_t memory_tokens) {
  if (memory_tokens == 0) return;
  recent.push_back(token);
  if (recent.size() > memory_tokens) recent.pop_front();
}

uint64_t SimBackend::Past::state() const {
  if (recent.empty()) return chain;
  uint64_t hash = 0;
  for (const int32_t token : recent) hash = sim_mix(hash, static_cast<uint32_t>(token));
  return hash;
}

Result<SpanResult> SimBackend::run(const Span& span) {
  TROUPE_TRY(check(span));
  TROUPE_ASSIGN(Past past, read_past(span));
  TROUPE_TRY(check_windows(span));
  SpanResult result;
  const auto n = static_cast<uint32_t>(span.tokens.size());
  std::span<const int32_t> prompt;
  std::vector<int32_t> output;
  if (span.num_draws > 0) {
    const std::span<const int32_t> known(span.history->tokens);
    prompt = known.first(span.history->num_prompt_tokens);
    const auto rest = known.subspan(prompt.size());
    output.assign(rest.begin(), rest.end());
  }
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t position = span.first_position + i;
    const int32_t token = span.tokens[i].value;
    past.chain = SimSlots::link(past.chain, token, position);
    past.remember(token, options_.memory_tokens);
    for (uint32_t group = 0; span.write_kv && group < layout_.num_groups(); ++group) {
      slots_->write(table_of(span, group, layout_.num_groups()), position, {past.chain, token});
    }

    const bool draws = i + span.num_draws >= n;
    const bool scores = !span.score_targets.empty() && span.score_targets[i] >= 0;
    std::vector<float> logits;
    if (draws || scores) {
      logits = sim_logits(past.state(), options_.vocab_size, options_.logit_scale);
    }
    if (!span.score_targets.empty()) {
      const auto target = static_cast<size_t>(std::max(span.score_targets[i], 0));
      result.scores.push_back(scores ? logits[target] - sim_log_sum_exp(logits) : 0.0f);
    }
    if (!draws) continue;
    if (i + span.num_draws > n) output.push_back(token);
    if (span.keep_logits) result.logits.insert(result.logits.end(), logits.begin(), logits.end());
    result.draws.push_back(
        sim_draw(std::move(logits), *span.sampling, position + 1, prompt, output));
  }
  return result;
}

}  // namespace troupe::engine
