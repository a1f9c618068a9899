// How sequences enter, and how their owner ends them.
#include "base/concat.hpp"
#include "engine/engine_impl.hpp"

namespace troupe::engine {

Status Engine::Impl::check(const SequenceSpec& spec) const {
  const Capabilities& can = backend.capabilities();
  const size_t size = spec.tokens.size();
  if (size == 0 || spec.num_prompt_tokens == 0) {
    return error(Code::invalid_argument, "the prompt is empty", "give at least one token");
  }
  if (spec.num_prompt_tokens > size) {
    return error(Code::invalid_argument, concat("num_prompt_tokens is ", spec.num_prompt_tokens,
                                                ", but there are only ", size, " tokens"));
  }
  // A prompt that fills the context leaves no room for the first token of an answer.
  const uint32_t prompt_max = spec.prefill_only ? can.context_max : can.context_max - 1;
  if (spec.num_prompt_tokens > prompt_max || size > can.context_max) {
    return error(Code::invalid_argument,
                 concat("the prompt has ", size, " tokens, the context holds ", can.context_max),
                 concat("at most ", prompt_max, " tokens of prompt"));
  }
  for (size_t i = 0; i < size; ++i) {
    const int32_t token = spec.tokens[i];
    if (token < 0 || static_cast<uint32_t>(token) >= can.vocab_size) {
      return error(Code::invalid_argument, concat("token ", i, " of the prompt is ", token),
                   concat("legal: from 0 to ", can.vocab_size - 1, ", the model's vocabulary"));
    }
  }
  TROUPE_TRY(validate(spec.sampling, can.vocab_size));

  const uint32_t pages = pages_at_most(
      static_cast<uint32_t>(spec.prefill_only ? size / block_tokens * block_tokens : size));
  if (pages > pool.num_pages()) {
    return error(Code::exhausted,
                 concat("the prompt needs ", pages, " KV pages, the pool has ", pool.num_pages()),
                 groups > 1
                     ? std::string("a shorter prompt, or more memory for the pool")
                     : concat("at most ", uint64_t{pool.num_pages()} * block_tokens, " tokens"));
  }
  if (waiting.size() + num_held >= limits.waiting_max) {
    return error(Code::exhausted, concat("the queue is full: ", limits.waiting_max, " sequences"),
                 "try again later or at another worker");
  }
  return {};
}

Result<SequenceId> Engine::Impl::add(SequenceSpec spec) {
  TROUPE_TRY(check(spec));
  auto owned = std::make_unique<Sequence>();
  Sequence& s = *owned;
  s.id = ++last_id;
  s.history.tokens = std::move(spec.tokens);
  s.history.num_prompt_tokens = spec.num_prompt_tokens;
  s.sampling = std::move(spec.sampling);
  s.root = spec.root;
  s.prefill_only = spec.prefill_only;
  s.drafts = spec.drafts && !spec.prefill_only && limits.draft_tokens_max > 0;
  s.groups = groups;
  s.windows_begin.assign(groups, 0);
  s.names = name_memo.names(s.root, s.history.tokens, block_tokens);
  sequences.emplace(s.id, std::move(owned));
  waiting.emplace(s.id, &s);

  if (!s.prefill_only) {
    if (const auto reason = s.finish_reason(backend.capabilities().context_max)) {
      complete(s, *reason);
      return SequenceId{s.id};
    }
  }
  teach_prompt(s);
  match_blocks(s);
  return SequenceId{s.id};
}

void Engine::Impl::end(SequenceId id, Ending how) {
  Sequence* s = find(id);
  if (s == nullptr) return;
  stalled = false;
  if (how == Ending::finished) teach_output(*s);
  if (!s->planned) {
    retire(*s);
    return;
  }
  leave_queues(*s);
  s->state = SequenceState::done;
  s->ending = how;
}

}  // namespace troupe::engine
