// How often guesses come true, by who guesses and how many tokens before the guess matched. Every
// drawn token is compared with what each source would have guessed, drafted or not: learning what
// drafts are worth costs nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace troupe::engine {

/// own: the sequence's own tokens (n-gram lookup); shared: what the draft actor knows.
enum class DraftSource : uint8_t { own, shared };
inline constexpr size_t num_draft_sources = 2;

/// Lengths of matches in classes: 1, 2, to 4, to 8, to 16, more.
inline constexpr size_t num_match_classes = 6;
constexpr size_t match_class(uint32_t length) {
  size_t match = 0;
  for (uint32_t most = 1; length > most && match + 1 < num_match_classes; most *= 2) ++match;
  return match;
}

class Acceptance {
 public:
  /// Old observations count for less: after `memory` newer ones for about a third.
  explicit Acceptance(float memory) : keep_(1.0f - 1.0f / memory) {}

  void observe(DraftSource source, uint32_t length, bool right) {
    Tally& tally = at(source, length);
    tally.seen = tally.seen * keep_ + 1.0f;
    tally.right = tally.right * keep_ + (right ? 1.0f : 0.0f);
  }

  /// The chance that a guess comes true, where `prior` is the chance known from elsewhere: it
  /// counts as much as `weight` observations.
  [[nodiscard]] float chance(DraftSource source, uint32_t length, float prior, float weight) const {
    const Tally& tally = at(source, length);
    return (tally.right + prior * weight) / (tally.seen + weight);
  }

 private:
  struct Tally {
    float right = 0, seen = 0;
  };
  Tally& at(DraftSource source, uint32_t length) {
    return tallies_[static_cast<size_t>(source)][match_class(length)];
  }
  [[nodiscard]] const Tally& at(DraftSource source, uint32_t length) const {
    return tallies_[static_cast<size_t>(source)][match_class(length)];
  }

  float keep_;
  std::array<std::array<Tally, num_match_classes>, num_draft_sources> tallies_{};
};

/// What is assumed of a match before anything was seen.
constexpr float assumed_chance(uint32_t length) {
  constexpr std::array<float, num_match_classes> chances = {0.1f, 0.25f, 0.4f, 0.6f, 0.8f, 0.9f};
  return chances[match_class(length)];
}

}  // namespace troupe::engine
