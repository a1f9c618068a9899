#include "engine/drafter.hpp"

#include <algorithm>
#include <array>

namespace troupe::engine {

namespace {
/// Observations that the assumptions about any text count for against those of all sequences, and
/// those of all sequences against one's own.
constexpr float assumed_weight = 8, all_weight = 4;
constexpr uint32_t drafts_max = 64;
}  // namespace

void Drafter::note(DraftSource source, const GuessOutcome& outcome, Acceptance& all) {
  own_stats_.observe(source, outcome.length, outcome.right);
  all.observe(source, outcome.length, outcome.right);
}

bool Drafter::follow(const TokenHistory& history, uint32_t count_max, Acceptance& all,
                     DraftTally& tally) {
  if (!lookup_.feed(history.tokens, history.num_prompt_tokens, count_max)) return false;
  for (const GuessOutcome& outcome : lookup_.outcomes()) note(DraftSource::own, outcome, all);
  shared_.follow(history.tokens);
  for (const GuessOutcome& outcome : shared_.take_outcomes()) {
    note(DraftSource::shared, outcome, all);
    const size_t match = match_class(outcome.length);
    ++tally.seen[match];
    tally.right[match] += outcome.right ? 1 : 0;
  }
  return true;
}

DraftChoice Drafter::weigh(DraftSource source, uint32_t length, uint32_t count,
                           const Acceptance& all, const StepCosts& costs,
                           const StepLoad& load) const {
  std::array<float, drafts_max> chances;
  count = std::min(count, drafts_max);
  for (uint32_t i = 0; i < count; ++i) {
    const float assumed =
        all.chance(source, length + i, assumed_chance(length + i), assumed_weight);
    chances[i] = own_stats_.chance(source, length + i, assumed, all_weight);
  }
  return choose_draft_count(std::span(chances).first(count), load, costs);
}

std::vector<int32_t> Drafter::choose(const TokenHistory& history, uint32_t count_max,
                                     const Acceptance& all, const StepCosts& costs,
                                     StepLoad& load) {
  DraftChoice own, shared;
  if (lookup_.length() > 0) {
    own = weigh(DraftSource::own, lookup_.length(), count_max, all, costs, load);
  }
  const std::span<const int32_t> proposed = shared_.guess();
  if (!proposed.empty()) {
    const auto count = static_cast<uint32_t>(std::min(proposed.size(), size_t{count_max}));
    shared = weigh(DraftSource::shared, shared_.length(), count, all, costs, load);
  }
  const bool is_shared = shared.gain >= own.gain;
  const DraftChoice& best = is_shared ? shared : own;
  chosen_ = is_shared ? DraftSource::shared : DraftSource::own;
  load.tokens += best.count;
  load.expected += best.expected;
  if (best.count == 0) return {};
  if (!is_shared) return lookup_.guess(history.tokens, best.count);
  return {proposed.begin(), proposed.begin() + static_cast<std::ptrdiff_t>(best.count)};
}

}  // namespace troupe::engine
