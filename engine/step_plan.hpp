// The only unit of compute is a span: consecutive tokens of one sequence, computed against the
// sequence's KV history. A prefill chunk is a long span, a decode step a span of 1, speculative
// verification a span of k + 1. One StepPlan mixes spans of many sequences.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "engine/sampling.hpp"
#include "kv/layout.hpp"

namespace troupe::engine {

/// A token known now, or what slot `from_slot` of the step before samples (launch-ahead).
struct InputToken {
  int32_t value = 0;
  int32_t from_slot = -1;
};

/// Tokens of a sequence as the sampler's penalties see them. Owned by the sequence; a plan borrows
/// it until the ticket's result was taken.
struct TokenHistory {
  std::vector<int32_t> tokens;  ///< prompt, then output
  uint32_t num_prompt_tokens = 0;

  [[nodiscard]] uint32_t num_output_tokens() const {
    return static_cast<uint32_t>(tokens.size()) - num_prompt_tokens;
  }
};

struct Span {
  uint64_t sequence = 0;           ///< for logs and errors
  uint32_t first_position = 0;     ///< absolute position of tokens[0]
  std::vector<InputToken> tokens;  ///< n >= 1
  /// Pages of positions [0, first_position + n), [layer group][block]. A block that ends before a
  /// group's window of first_position may have no_page there.
  std::vector<kv::PageId> block_table;
  /// The last `num_draws` tokens of the span each yield logits and a draw for the next position.
  uint32_t num_draws = 0;
  bool write_kv = true;  ///< false: the last token of a prompt that is cached in full
  const SamplingParams* sampling = nullptr;  ///< needed when num_draws > 0
  /// All tokens up to and including tokens[n - num_draws] (none drawn: maybe more); later span
  /// tokens are drafts and are added to the history draw by draw. Needed when num_draws > 0.
  const TokenHistory* history = nullptr;
  /// Empty, or one per token: log-probability of this id after it is wanted (-1: not here).
  std::vector<int32_t> score_targets;
  bool keep_logits = false;  ///< return the raw logits of the draws (tests, tools)
};

struct StepPlan {
  uint64_t step = 0;
  std::vector<Span> spans;
  [[nodiscard]] size_t num_tokens() const {
    size_t n = 0;
    for (const Span& span : spans) n += span.tokens.size();
    return n;
  }
};

struct Draw {
  int32_t token = 0;
  float logprob = 0;  ///< of the distribution after the mask, before temperature and truncation
  std::vector<std::pair<int32_t, float>> top_logprobs;  ///< descending
};

struct SpanResult {
  std::vector<Draw> draws;     ///< num_draws of them
  std::vector<float> scores;   ///< as score_targets
  std::vector<float> logits;   ///< [num_draws, vocab] when keep_logits
  std::optional<Error> error;  ///< this request fails (e.g. NaN in its logits); others go on
};

struct StepResult {
  uint64_t step = 0;
  std::vector<SpanResult> spans;  ///< as in the plan
  int64_t compute_us = 0;
};

}  // namespace troupe::engine
