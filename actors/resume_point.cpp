#include "actors/resume_point.hpp"

#include <algorithm>
#include <bit>

#include "schemas/convert.hpp"

namespace troupe::actors {
namespace {

void add(v1::ChoiceStats& total, const v1::ChoiceStats& more) {
  total.set_cached_tokens(std::max(total.cached_tokens(), more.cached_tokens()));
  total.set_queue_us(std::max(total.queue_us(), more.queue_us()));
  total.set_prefill_us(std::max(total.prefill_us(), more.prefill_us()));
  total.set_pinned_tokens(std::max(total.pinned_tokens(), more.pinned_tokens()));
  total.set_blocks_moved(total.blocks_moved() + more.blocks_moved());
  total.set_bytes_moved(total.bytes_moved() + more.bytes_moved());
  total.set_transfer_us(total.transfer_us() + more.transfer_us());
  total.set_handover_us(total.handover_us() + more.handover_us());
  if (!more.transport().empty()) total.set_transport(more.transport());
}

}  // namespace

ResumePoint::ResumePoint(v1::PreparedRequest prepared, const GenerateRequest& request)
    : prepared_(std::move(prepared)), stop_(request.stop), drafts_(request.drafts) {
  choices_.resize(request.choices);
  current_.resize(request.choices);
  for (uint32_t i = 0; i < request.choices; ++i) choices_[i].choice = i;
}

v1::StartRequest ResumePoint::next_attempt(const v1::Placement& placement, uint64_t session) {
  ++attempt_;
  for (size_t i = 0; i < choices_.size(); ++i) fold_stats(i);
  v1::StartRequest start;
  start.set_request_id(prepared_.request_id());
  start.set_attempt(attempt_);
  *start.mutable_prompt() = prepared_.prompt();
  *start.mutable_sampling() = prepared_.sampling();
  for (const std::string& stop : stop_) start.add_stop(stop);
  start.set_root(prepared_.root());
  start.set_drafts(drafts_);
  *start.mutable_cache_pins() = prepared_.cache_pins();
  if (!placement.prefill().name().empty()) {
    *start.mutable_prefill() = placement.prefill();
    start.set_session(session);
    start.set_prefill_tokens(static_cast<uint32_t>(prefill_tokens().size()));
  } else if (!placement.fetch().name().empty()) {
    *start.mutable_fetch() = placement.fetch();
    start.set_fetch_blocks(placement.fetch_blocks());
    start.set_session(session);
  }
  for (const ChoiceResult& choice : choices_) {
    if (!choice.finish_reason.empty()) continue;
    v1::ChoiceState* state = start.add_choices();
    state->set_choice(choice.choice);
    state->mutable_output()->Add(choice.token_ids.begin(), choice.token_ids.end());
  }
  return start;
}

std::vector<int32_t> ResumePoint::prefill_tokens() const {
  std::vector<int32_t> tokens(prepared_.prompt().begin(), prepared_.prompt().end());
  if (choices_.size() == 1) {
    tokens.insert(tokens.end(), choices_[0].token_ids.begin(), choices_[0].token_ids.end());
  }
  return tokens;
}

ResumePoint::Accepted ResumePoint::accept(const v1::Delta& delta) {
  Accepted accepted;
  if (delta.attempt() != attempt_ || delta.choice() >= choices_.size()) return accepted;
  ChoiceResult& choice = choices_[delta.choice()];
  if (!choice.finish_reason.empty()) return accepted;
  const size_t held = choice.token_ids.size();
  if (delta.first_index() > held || delta.logprob_bits_size() != delta.tokens_size()) {
    accepted.gap = true;
    return accepted;
  }
  // Text comes per message, not per token: a message is new as a whole or not at all.
  if (delta.first_index() < held && delta.tokens_size() > 0) return accepted;

  ClientDelta& out = accepted.delta;
  out.choice = delta.choice();
  out.text = delta.text();
  for (int i = 0; i < delta.tokens_size(); ++i) {
    out.tokens.push_back(delta.tokens(i));
    out.logprobs.push_back(std::bit_cast<float>(delta.logprob_bits(i)));
    std::vector<std::pair<int32_t, float>> top;
    if (i < delta.top_logprobs_size()) {
      for (const auto& entry : delta.top_logprobs(i).entries()) {
        top.emplace_back(entry.token(), std::bit_cast<float>(entry.logprob_bits()));
      }
    }
    out.top_logprobs.push_back(std::move(top));
  }
  choice.text += out.text;
  choice.token_ids.insert(choice.token_ids.end(), out.tokens.begin(), out.tokens.end());
  choice.logprobs.insert(choice.logprobs.end(), out.logprobs.begin(), out.logprobs.end());
  choice.top_logprobs.insert(choice.top_logprobs.end(), out.top_logprobs.begin(),
                             out.top_logprobs.end());
  if (delta.has_stats()) current_[delta.choice()] = delta.stats();
  out.prompt_tokens = static_cast<uint32_t>(prepared_.prompt_size());
  out.cached_tokens = stats().cached_tokens();
  out.pinned_tokens = stats().pinned_tokens();
  if (delta.finish().empty()) return accepted;
  fold_stats(delta.choice());
  if (delta.finish() == "failed" || delta.finish() == "moved" || delta.finish() == "closing") {
    accepted.failure = schemas::from_wire(delta.failure());
    accepted.closing = delta.finish() == "closing";
    return accepted;
  }
  choice.finish_reason = delta.finish();
  out.finish_reason = delta.finish();
  accepted.choice_finished = true;
  return accepted;
}

void ResumePoint::fold_stats(size_t choice) {
  add(past_, current_[choice]);
  choices_[choice].drafted += current_[choice].drafted();
  choices_[choice].accepted += current_[choice].accepted();
  current_[choice].Clear();
}

v1::ChoiceStats ResumePoint::stats() const {
  v1::ChoiceStats total = past_;
  for (const v1::ChoiceStats& choice : current_) add(total, choice);
  return total;
}

bool ResumePoint::all_finished() const {
  return std::all_of(choices_.begin(), choices_.end(),
                     [](const ChoiceResult& c) { return !c.finish_reason.empty(); });
}

uint32_t ResumePoint::num_tokens() const {
  size_t longest = 0;
  for (const ChoiceResult& choice : choices_) {
    longest = std::max(longest, choice.token_ids.size());
  }
  return static_cast<uint32_t>(static_cast<size_t>(prepared_.prompt_size()) + longest);
}

}  // namespace troupe::actors
