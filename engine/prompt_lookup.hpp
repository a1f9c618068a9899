// Drafts from a sequence's own tokens: what followed the last time its newest n tokens occurred,
// n = 3 before 2 before 1; a guess that comes true is followed as long as it does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::engine {

/// A guess, whether it was drafted or not, and what was drawn.
struct GuessOutcome {
  uint32_t length = 0;  ///< tokens before it that had matched
  bool right = false;
};

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
  /// True when it has seen all of them. Each token from index `drawn_from` on is compared with
  /// what would have been guessed: outcomes().
  bool feed(const std::vector<int32_t>& tokens, uint32_t drawn_from, uint32_t count_max);

  /// Of the last feed(), in order.
  [[nodiscard]] const std::vector<GuessOutcome>& outcomes() const { return outcomes_; }

  /// How many of the newest tokens stood before what would be guessed next; 0: nothing is.
  [[nodiscard]] uint32_t length() const { return length_; }

  /// The guess: `count` tokens, or none when length() is 0. Call after feed() returned true.
  [[nodiscard]] std::vector<int32_t> guess(const std::vector<int32_t>& tokens,
                                           uint32_t count) const;

 private:
  static constexpr uint32_t n_max = 3;

  std::array<NgramTable, n_max> tables_;
  std::vector<GuessOutcome> outcomes_;
  uint32_t fed_ = 0;
  uint32_t from_ = 0;    ///< index of the token that is guessed next
  uint32_t length_ = 0;  ///< grows while the guesses come true
};

}  // namespace troupe::engine
