// What a step costs by its number of tokens, learned from the steps that ran: a fixed part (the
// weights are read once) and a part per token. Drafts pay while the second is small.
#pragma once

#include <cstdint>

namespace troupe::engine {

class StepCosts {
 public:
  /// A step of `tokens` tokens, none of them of a prompt, took `us` microseconds. A time of 0 or
  /// less says nothing.
  void record(uint32_t tokens, int64_t us);

  /// Cost of a step of `tokens` tokens, in units of a step of one token.
  [[nodiscard]] double of(double tokens) const { return 1.0 + share_ * (tokens - 1.0); }
  /// Cost of one token more, in the same unit.
  [[nodiscard]] double share() const { return share_; }

 private:
  void fit();

  /// Until steps of several sizes were seen. Too low costs a draft, too high would never try one.
  double share_ = 0.4;
  /// Sums over the steps, where old ones count for less.
  double weight_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0;
};

}  // namespace troupe::engine
