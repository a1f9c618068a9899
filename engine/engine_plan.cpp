// The next step: pages for everyone who decodes, then chunks, then drafts.
#include <algorithm>

#include "base/concat.hpp"
#include "engine/engine_impl.hpp"

namespace troupe::engine {

StepPlan Engine::Impl::plan() {
  StepPlan plan;
  if (!planned.empty()) return plan;
  is_short_of_pages = false;
  is_short_of_windows = false;

  std::vector<Sequence*> decoding = grow_decoding();
  const bool prefill = !waiting.empty() || running.size() > decoding.size();
  plan.step = ++step;
  StepBudget budget(step_tokens_max, limits.chunk_tokens,
                    {static_cast<uint32_t>(decoding.size()), prefill, step});
  const std::vector<Grant> chunks = grant_prefill(budget);
  rotate(decoding, budget.take_decode_spans());

  plan.spans.reserve(decoding.size() + chunks.size());
  planned.reserve(decoding.size() + chunks.size());
  StepLoad load{static_cast<double>(decoding.size()), static_cast<double>(decoding.size())};
  for (Sequence* s : decoding) {
    choose_drafts(*s, budget, load);
    add_span(plan, *s, 1);
  }
  decode_tokens = chunks.empty() ? static_cast<uint32_t>(plan.num_tokens()) : 0;
  for (const Grant& grant : chunks) add_span(plan, *grant.sequence, grant.tokens);

  if (!plan.spans.empty()) {
    ++counters.steps;
  } else if (untold.empty() && !is_short_of_windows) {
    stalled = true;
    stalled_available = available();
  }
  return plan;
}

/// Where the next span of a running sequence ends at most, without drafts.
uint32_t Engine::Impl::next_end(const Sequence& s) const {
  const uint32_t left = s.decoding() ? 1 : std::min(s.remaining(block_tokens), chunk_max());
  return s.num_computed + left;
}

/// Reserves the pages of the next tokens for every running sequence, oldest first, and returns the
/// decoding ones that have them. A prompt's pages of group 0 it has since it was admitted.
std::vector<Sequence*> Engine::Impl::grow_decoding() {
  std::vector<SequenceId> short_of_pages;
  for (const auto& [id, s] : running) {
    const bool grows = s->decoding() || groups > 1;
    if (grows && tokens_with_pages(*s) < next_end(*s)) short_of_pages.push_back(id);
  }
  for (const SequenceId id : short_of_pages) {
    const auto found = running.find(id);  // an older one may have preempted it
    if (found != running.end()) grow(*found->second);
  }
  std::vector<Sequence*> decoding;
  decoding.reserve(running.size());
  for (const auto& [id, s] : running) {
    if (s->decoding() && tokens_with_pages(*s) >= s->num_tokens()) decoding.push_back(s);
  }
  return decoding;
}

void Engine::Impl::grow(Sequence& s) {
  const uint32_t needed = pages_at_most(s.target_tokens(block_tokens));
  if (needed > pool.num_pages()) {
    fail(s, error(Code::exhausted,
                  concat("the sequence has ", s.num_tokens(), " tokens and needs ", needed,
                         " KV pages, the pool has ", pool.num_pages()),
                  "ask for fewer tokens or give the pool more memory"));
    return;
  }
  // Without a page it keeps its place and waits: older sequences end, transfers give theirs back.
  // The oldest is never in this position because of the others, so somebody always goes on.
  const uint32_t end = next_end(s);
  (void)(reserve(s, pages_for(end), Pressure::preempt) &&
         reserve_windows(s, end, Pressure::preempt));
}

/// Keeps `spans` of the decoding sequences, in turn from step to step when that is not all.
void Engine::Impl::rotate(std::vector<Sequence*>& decoding, uint32_t spans) {
  if (spans >= decoding.size()) return;
  const auto next = std::find_if(decoding.begin(), decoding.end(),
                                 [this](const Sequence* s) { return s->id > rotation; });
  std::rotate(decoding.begin(), next, decoding.end());
  decoding.resize(spans);
  if (spans > 0) rotation = decoding.back()->id;
}

std::vector<Engine::Impl::Grant> Engine::Impl::grant_prefill(StepBudget& budget) {
  std::vector<Grant> grants;
  const auto grant = [&](Sequence& s, bool moved_on) {
    uint32_t end = next_end(s);
    // Whom a match moved on needs other pages than grow() took. Nobody who is served in this step
    // already is preempted for them, but in the next one somebody may be.
    if (groups > 1 && !reserve_windows(s, end, Pressure::evict)) {
      end = std::min(end, tokens_with_pages(s));
      is_short_of_windows = is_short_of_windows || moved_on;
    }
    const uint32_t tokens = end <= s.num_computed ? 0 : budget.take_prefill(end - s.num_computed);
    if (tokens > 0) grants.push_back({&s, tokens});
  };
  for (auto it = running.begin(); it != running.end() && budget.left() > 0;) {
    Sequence& s = *(it++)->second;
    if (s.decoding()) continue;
    const uint32_t before = s.num_computed;
    match_blocks(s);
    // A block that another sequence is computing is worth a step's patience. What became a
    // decoding sequence by the match is served here too, as a chunk of one token.
    if (s.state == SequenceState::running && !claimed_by_other(s)) {
      grant(s, s.num_computed != before);
    }
  }
  uint32_t scanned = 0;
  for (auto it = waiting.begin(); it != waiting.end() && budget.left() > 0;) {
    if (running.size() >= limits.running_max || ++scanned > limits::admission_scan_max) break;
    Sequence& s = *(it++)->second;
    match_blocks(s);
    if (s.state != SequenceState::waiting || claimed_by_other(s)) continue;
    if (!admit(s)) break;
    grant(s, false);
  }
  return grants;
}

/// Makes a waiting sequence run if all of its tokens find room.
bool Engine::Impl::admit(Sequence& s) {
  const uint32_t target = s.target_tokens(block_tokens), needed = pages_for(target);
  const uint32_t copies = s.whole() ? 1 : 0;
  const auto num_running = static_cast<uint32_t>(running.size());
  // A block more for each that runs, or the newcomer would be preempted for them at once.
  const uint32_t wanted = pages_at_most(target) + (copies + num_running) * groups;
  if (num_running > 0 && available() + pages_held(s) < wanted) return false;
  const Pressure pressure = num_running > 0 ? Pressure::evict : Pressure::strip;
  const uint32_t with_copy = (needed + 1) * block_tokens;
  if (copies > 0 && reserve(s, needed + 1, pressure) && reserve_windows(s, with_copy, pressure)) {
    copy_last_block(s);
  } else {
    if (copies > 0) give_up_last_block(s);
    const uint32_t before = s.num_indexed;
    const uint32_t end = std::min(target, s.num_computed + chunk_max());
    if (!reserve(s, needed, pressure)) return false;
    if (!reserve_windows(s, end, pressure)) {
      truncate_blocks(s, before);
      return false;
    }
    take_branch(s);
  }
  if (!s.preempted) s.num_taken = s.num_computed;
  waiting.erase(s.id);
  running.emplace(s.id, &s);
  s.state = SequenceState::running;
  s.started = true;
  claim(s);
  return true;
}

void Engine::Impl::add_span(StepPlan& plan, Sequence& s, uint32_t tokens) {
  Span span;
  span.sequence = s.id;
  span.first_position = s.num_computed;
  span.tokens.reserve(tokens + s.drafted.size());
  for (uint32_t i = 0; i < tokens; ++i) {
    span.tokens.push_back({s.history.tokens[s.num_computed + i], -1});
  }
  for (const int32_t token : s.drafted) span.tokens.push_back({token, -1});
  const auto size = static_cast<uint32_t>(span.tokens.size());
  const uint32_t blocks = pages_for(s.num_computed + size);
  span.block_table.reserve(size_t{blocks} * groups);
  for (uint32_t group = 0; group < groups; ++group) {
    for (uint32_t block = 0; block < blocks; ++block) {
      span.block_table.push_back(s.page(block, group));
    }
  }
  if (!s.prefill_only && s.num_computed + tokens == s.num_tokens()) {
    span.num_draws = 1 + static_cast<uint32_t>(s.drafted.size());
    span.sampling = &s.sampling;
  }
  span.history = &s.history;
  s.planned = true;
  planned.push_back({&s, size, span.num_draws});
  plan.spans.push_back(std::move(span));
}

}  // namespace troupe::engine
