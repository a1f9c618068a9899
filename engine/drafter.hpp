// One sequence's drafts: from its own tokens and from what the draft actor proposed, whichever
// promises more, and as many as pay.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/acceptance.hpp"
#include "engine/draft_exchange.hpp"
#include "engine/draft_policy.hpp"
#include "engine/prompt_lookup.hpp"
#include "engine/shared_run.hpp"
#include "engine/step_costs.hpp"
#include "engine/step_plan.hpp"

namespace troupe::engine {

class Drafter {
 public:
  /// Takes notice of up to `count_max` tokens more; true when it has seen all. What the guesses
  /// were worth goes into its own statistics and those of all sequences, and, for proposals of the
  /// draft actor, into `tally`.
  bool follow(const TokenHistory& history, uint32_t count_max, Acceptance& all, DraftTally& tally);

  /// Up to `count_max` drafts for the next step, of which `load` grows. Call after follow().
  std::vector<int32_t> choose(const TokenHistory& history, uint32_t count_max,
                              const Acceptance& all, const StepCosts& costs, StepLoad& load);

  [[nodiscard]] SharedRun& shared() { return shared_; }
  /// Who made the drafts of the last choose().
  [[nodiscard]] DraftSource chosen() const { return chosen_; }

 private:
  void note(DraftSource source, const GuessOutcome& outcome, Acceptance& all);
  DraftChoice weigh(DraftSource source, uint32_t length, uint32_t count, const Acceptance& all,
                    const StepCosts& costs, const StepLoad& load) const;

  PromptLookup lookup_;
  SharedRun shared_;
  Acceptance own_stats_{memory_tokens};
  DraftSource chosen_ = DraftSource::own;

  static constexpr float memory_tokens = 32;
};

}  // namespace troupe::engine
