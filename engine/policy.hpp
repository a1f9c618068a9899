// Who computes how many tokens in this step: every decoding sequence one token first, then prefill
// chunks in order of arrival, then drafts from what is left.
#pragma once

#include <algorithm>
#include <cstdint>

namespace troupe::engine {

class StepBudget {
 public:
  struct Demand {
    uint32_t decoding = 0;  ///< sequences that need one token each
    bool prefill = false;   ///< somebody has a prompt to compute
    uint64_t step = 0;      ///< number of the step; alternates a budget of a single token
  };

  StepBudget(uint32_t step_tokens_max, uint32_t chunk_tokens, Demand demand)
      : chunk_tokens_(chunk_tokens), decoding_(demand.decoding) {
    // Without a reserve, as many decoding sequences as tokens would starve every new prompt.
    uint32_t reserve = 0;
    if (demand.prefill) {
      reserve = step_tokens_max == 1 && demand.decoding > 0 ? static_cast<uint32_t>(demand.step % 2)
                                                            : std::max(1u, step_tokens_max / 8);
    }
    decode_spans_ = std::min(demand.decoding, step_tokens_max - reserve);
    left_ = step_tokens_max - decode_spans_;
  }

  /// Tokens that are neither given away nor kept for decoding.
  [[nodiscard]] uint32_t left() const { return left_; }
  /// Tokens of one sequence's prefill chunk when `remaining` are to be computed.
  uint32_t take_prefill(uint32_t remaining) { return take(std::min(remaining, chunk_tokens_)); }
  /// After prefill: decoding sequences that get their token in this step. What the prefill did not
  /// take of its reserve is theirs.
  uint32_t take_decode_spans() {
    decode_spans_ += take(decoding_ - decode_spans_);
    return decode_spans_;
  }
  /// Last: draft tokens for one decoding sequence that would verify `wanted`.
  uint32_t take_drafts(uint32_t wanted) { return take(wanted); }

 private:
  uint32_t take(uint32_t wanted) {
    const uint32_t taken = std::min(wanted, left_);
    left_ -= taken;
    return taken;
  }

  uint32_t chunk_tokens_;
  uint32_t decoding_;
  uint32_t decode_spans_ = 0;
  uint32_t left_ = 0;
};

}  // namespace troupe::engine
