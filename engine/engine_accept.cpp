// What a step brought: tokens that are final, drafts that came true, blocks that are full.
#include <algorithm>

#include "base/concat.hpp"
#include "engine/engine_impl.hpp"

namespace troupe::engine {

Outcome Engine::Impl::accept(const StepResult& result) {
  if (planned.empty()) {
    Outcome out;
    tell_ends(out);
    return out;
  }
  if (result.step != step || result.spans.size() != planned.size()) {
    return reject(error(Code::internal, concat("step ", step, " has ", planned.size(),
                                               " spans, the result is of step ", result.step,
                                               " with ", result.spans.size())));
  }
  Outcome out;
  stalled = false;
  costs.record(decode_tokens, result.compute_us);
  const std::vector<Planned> spans = std::move(planned);
  planned.clear();
  for (size_t i = 0; i < spans.size(); ++i) {
    Sequence& s = *spans[i].sequence;
    s.planned = false;
    take(s, spans[i], result.spans[i], out);
  }
  tell_ends(out);
  return out;
}

Outcome Engine::Impl::reject(const Error& error) {
  Outcome out;
  stalled = false;
  const std::vector<Planned> spans = std::move(planned);
  planned.clear();
  for (const Planned& span : spans) {
    Sequence& s = *span.sequence;
    s.planned = false;
    if (s.ending == Ending::none) {
      fail(s, error);
    } else {
      retire(s);
    }
  }
  tell_ends(out);
  return out;
}

void Engine::Impl::take(Sequence& s, const Planned& span, const SpanResult& result, Outcome& out) {
  const uint32_t known = span.draws == 0 ? span.tokens : span.tokens - span.draws + 1;
  if (s.ending != Ending::none) {
    if (s.ending == Ending::finished && !result.error.has_value()) {
      s.num_computed += known;
      index_blocks(s);
    }
    retire(s);
    return;
  }
  if (result.error.has_value()) return fail(s, *result.error);
  if (Status status = check(span, result); !status.ok()) return fail(s, std::move(status).error());

  const bool was_decoding = s.decoding();
  const uint32_t accepted_drafts = append_draws(s, span, result, out);
  s.num_computed += known + accepted_drafts;
  if (!was_decoding) counters.prefill_tokens += known;
  s.extend_names(block_tokens);
  index_blocks(s);
  announce(s, out);
  leave_windows(s);
  if (s.prefill_only && s.remaining(block_tokens) == 0) complete(s, FinishReason::prefilled);
  if (span.draws > 0 && out.deltas.back().finish.has_value()) retire(s);
}

Status Engine::Impl::check(const Planned& span, const SpanResult& result) const {
  if (result.draws.size() != span.draws) {
    return error(Code::internal, concat("the backend drew ", result.draws.size(), " tokens where ",
                                        span.draws, " were asked for"));
  }
  for (const Draw& draw : result.draws) {
    if (draw.token < 0 || static_cast<uint32_t>(draw.token) >= backend.capabilities().vocab_size) {
      return error(Code::internal, concat("the backend drew token ", draw.token,
                                          ", which is outside the vocabulary"));
    }
  }
  return {};
}

/// Appends the draws up to the first that its draft did not foresee, or that ends the sequence, and
/// tells them. Returns how many drafts came true.
uint32_t Engine::Impl::append_draws(Sequence& s, const Planned& span, const SpanResult& result,
                                    Outcome& out) {
  if (span.draws == 0) return 0;
  Delta delta;
  delta.sequence = s.id;
  delta.first_index = s.history.num_output_tokens();
  delta.taken_tokens = std::min(s.num_taken, s.history.num_prompt_tokens);
  uint32_t accepted_drafts = 0;
  for (uint32_t i = 0; i < span.draws; ++i) {
    const Draw& draw = result.draws[i];
    s.history.tokens.push_back(draw.token);
    delta.draws.push_back(draw);
    delta.finish = s.finish_reason(backend.capabilities().context_max);
    if (delta.finish.has_value() || i == s.drafted.size() || draw.token != s.drafted[i]) break;
    ++accepted_drafts;
  }
  // A draft that ends the sequence came true as well, though nothing is drawn after it.
  delta.accepted_drafts = accepted_drafts;
  const auto drafted = static_cast<uint32_t>(s.drafted.size());
  delta.drafted = drafted;
  s.drafted.clear();
  counters.drafted += drafted;
  counters.accepted += accepted_drafts;
  if (s.drafter.chosen() == DraftSource::shared) {
    counters.shared_drafted += drafted;
    counters.shared_accepted += accepted_drafts;
  }
  counters.decode_tokens += delta.draws.size();
  if (delta.finish.has_value()) teach_output(s);
  out.deltas.push_back(std::move(delta));
  return accepted_drafts;
}

/// The blocks and ends that came about outside of a step's results.
void Engine::Impl::tell_ends(Outcome& out) {
  const std::set<SequenceId> ids = std::move(untold);
  untold.clear();
  if (!ids.empty()) stalled = false;
  for (const SequenceId id : ids) {
    Sequence* s = find(id);
    if (s == nullptr) continue;
    announce(*s, out);
    if (!s->finish.has_value()) continue;
    Delta delta;
    delta.sequence = id;
    delta.first_index = s->history.num_output_tokens();
    delta.finish = s->finish;
    delta.error = std::move(s->failure);
    out.deltas.push_back(std::move(delta));
    retire(*s);
  }
}

}  // namespace troupe::engine
