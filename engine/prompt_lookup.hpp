// Drafts from a sequence's own tokens: what followed the last time its newest n tokens occurred,
// n = 3 before 2 before 1. Decides by past acceptance how much to draft.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::engine {

/// Where an n-gram ended last, by a 32-bit tag of the n-gram. Two n-grams of one tag are taken for
/// one: that costs a wrong draft now and then, and saves looking at the tokens (a cache miss).
class NgramTable {
 public:
  static uint32_t tag(std::span<const int32_t> ngram);

  /// Notes that the n-gram of `tag` ends before `end` (> 0) and returns the end of its previous
  /// occurrence, 0 when there was none.
  uint32_t exchange(uint32_t tag, uint32_t end);

 private:
  struct Slot {
    uint32_t tag = 0;
    uint32_t end = 0;  ///< 0: free
  };

  Slot& slot_of(uint32_t tag);

  size_t used_ = 0;
  std::vector<Slot> slots_;  ///< open addressing; size is a power of two
};

class PromptLookup {
 public:
  /// Indexes up to `count_max` tokens more of `tokens`, of which it has seen a prefix already.
  /// True when it has seen all of them.
  bool feed(const std::vector<int32_t>& tokens, uint32_t count_max);

  /// Likely continuation of `tokens`, at most `count_max`; empty when nothing matches or drafting
  /// did not pay lately. Call after feed() returned true.
  std::vector<int32_t> propose(const std::vector<int32_t>& tokens, uint32_t count_max);

  /// A step drew `accepted` + 1 tokens, having verified `drafted` of the last proposal (may be 0).
  void record(uint32_t drafted, uint32_t accepted);

 private:
  static constexpr uint32_t n_max = 3;

  /// Drafting is paid from a credit in tokens that every drawn token earns a little of; a wasted
  /// draft costs 1, an accepted one earns 1. So text that never repeats pays at most the sum of
  /// the levels' `earned_per_token` (2 %), and text that does repeats drafts to the limit.
  struct Level {
    float earned_per_token;
    float credit;
    uint32_t length;  ///< tokens to draft next; follows what was accepted
  };

  std::array<NgramTable, n_max> tables_;
  std::array<Level, n_max> levels_{Level{0.003f, 0.0f, 1}, Level{0.006f, 1.0f, 1},
                                   Level{0.011f, 2.0f, 2}};
  std::array<uint32_t, n_max> previous_{};  ///< end of the newest n-gram's last occurrence
  uint32_t fed_ = 0;
  uint32_t proposed_by_ = 0;  ///< level of the last proposal
};

}  // namespace troupe::engine
