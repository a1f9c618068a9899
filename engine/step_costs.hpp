// What a step costs by its number of tokens, learned from the steps that ran: a fixed part (the
// weights are read once) and a part per token. Drafts pay while the second is small.
#pragma once

#include <array>
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

  /// Larger steps cost by other laws (a kernel takes over, attention grows).
  static constexpr uint32_t tokens_max = 64;
  /// Until steps of several sizes were seen, and again when the last is long ago. Too low costs a
  /// draft now and then, too high would never try one.
  static constexpr double assumed_share = 0.3;

  struct Size {
    double us = 0;  ///< what such a step takes when nothing interrupts it
    double weight = 0;
  };
  std::array<Size, tokens_max + 1> sizes_{};
  double share_ = assumed_share;
};

}  // namespace troupe::engine
