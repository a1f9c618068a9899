#include "cpu/plan_check.hpp"

#include "base/concat.hpp"

namespace troupe::cpu {
namespace {

using engine::Capabilities;
using engine::Span;

Error bad(const Span& span, const std::string& what, std::string hint) {
  return error(Code::invalid_argument, concat("span of sequence ", span.sequence, ": ", what),
               std::move(hint));
}

Status check_tokens(const Span& span, const Capabilities& capabilities) {
  if (span.tokens.empty()) return bad(span, "has no tokens", "a span is at least one token");
  const uint64_t end = uint64_t{span.first_position} + span.tokens.size();
  if (end > capabilities.context_max) {
    return bad(span, concat("ends at position ", end),
               concat("the context holds ", capabilities.context_max, " tokens"));
  }
  for (const engine::InputToken& token : span.tokens) {
    if (token.from_slot >= 0) {
      return bad(span, "takes a token from a slot", "this backend cannot launch ahead");
    }
    if (token.value < 0 || static_cast<uint32_t>(token.value) >= capabilities.vocab_size) {
      return bad(span, concat("token ", token.value, " is outside the vocabulary"),
                 concat("ids are 0 to ", capabilities.vocab_size - 1));
    }
  }
  return {};
}

Status check_pages(const Span& span, const kv::KvLayout& layout, uint32_t num_pages) {
  const uint64_t end = uint64_t{span.first_position} + span.tokens.size();
  const uint64_t needed = (end + layout.tokens_per_block - 1) / layout.tokens_per_block;
  const uint32_t groups = layout.num_groups();
  if (span.block_table.size() < needed * groups || span.block_table.size() % groups != 0) {
    return bad(span, concat("has ", span.block_table.size(), " pages for ", end, " positions"),
               concat(needed * groups, " are needed"));
  }
  const size_t blocks = span.block_table.size() / groups;
  for (uint32_t group = 0; group < groups; ++group) {
    for (uint64_t i = layout.first_block(group, span.first_position); i < needed; ++i) {
      const kv::PageId page = span.block_table[group * blocks + i];
      if (page >= num_pages) {
        return bad(span, concat("page ", page, " of block ", i, " is not in the pool"),
                   concat("the pool has ", num_pages, " pages"));
      }
    }
  }
  return {};
}

Status check_draws(const Span& span, const Capabilities& capabilities) {
  if (span.num_draws > span.tokens.size()) {
    return bad(span, concat(span.num_draws, " draws from ", span.tokens.size(), " tokens"),
               "at most one draw per token");
  }
  if (span.num_draws > 0 && span.sampling == nullptr) {
    return bad(span, "draws without sampling parameters", "set Span::sampling");
  }
  if (span.history != nullptr && span.history->num_prompt_tokens > span.history->tokens.size()) {
    return bad(span,
               concat("a history of ", span.history->tokens.size(), " tokens with a prompt of ",
                      span.history->num_prompt_tokens),
               "the prompt is part of the history");
  }
  if (!span.score_targets.empty() && span.score_targets.size() != span.tokens.size()) {
    return bad(
        span,
        concat(span.score_targets.size(), " score targets for ", span.tokens.size(), " tokens"),
        "none, or one per token");
  }
  for (const int32_t id : span.score_targets) {
    if (id < -1 || id >= static_cast<int64_t>(capabilities.vocab_size)) {
      return bad(span, concat("score target ", id, " is outside the vocabulary"),
                 concat("ids are 0 to ", capabilities.vocab_size - 1, ", -1 for none"));
    }
  }
  return {};
}

}  // namespace

Status check_plan(const engine::StepPlan& plan, const Capabilities& capabilities,
                  const kv::KvLayout& layout, uint32_t num_pages) {
  if (plan.num_tokens() > capabilities.step_tokens_max) {
    return error(Code::exhausted, concat("a step of ", plan.num_tokens(), " tokens"),
                 concat("this backend takes ", capabilities.step_tokens_max, " at once"));
  }
  for (const Span& span : plan.spans) {
    TROUPE_TRY(check_tokens(span, capabilities));
    TROUPE_TRY(check_pages(span, layout, num_pages));
    TROUPE_TRY(check_draws(span, capabilities));
  }
  return {};
}

}  // namespace troupe::cpu
