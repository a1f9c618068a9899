// One sequence's dealings with the draft actor: the run of tokens that was proposed and still
// agrees with what was drawn, and when to ask for more of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/draft_limits.hpp"
#include "engine/prompt_lookup.hpp"

namespace troupe::engine {

class SharedRun {
 public:
  /// Compares the run with the tokens that are new in `tokens`.
  void follow(const std::vector<int32_t>& tokens);
  /// How the run fared since the last call, in order.
  [[nodiscard]] std::vector<GuessOutcome> take_outcomes() { return std::exchange(outcomes_, {}); }

  /// What is guessed to come after the tokens of the last follow(); empty: no idea.
  [[nodiscard]] std::span<const int32_t> guess() const;
  /// Tokens that matched before guess()[0].
  [[nodiscard]] uint32_t length() const;

  struct Question {
    uint32_t position = 0;         ///< of the first token asked for
    std::vector<int32_t> context;  ///< its end: what the running step is expected to draw
  };
  /// What to ask while a step that verifies `drafted` runs, if it is time to.
  std::optional<Question> ask(const std::vector<int32_t>& tokens,
                              const std::vector<int32_t>& drafted);
  /// The answer to the question of that position; to any other it is dropped. `match` 0 or no
  /// tokens: nothing is known.
  void answer(const std::vector<int32_t>& tokens, uint32_t position, uint32_t match,
              std::span<const int32_t> next);

 private:
  struct Asked {
    uint32_t position = 0;
    std::vector<int32_t> guess;  ///< what was assumed to precede it, from tokens.size() on
  };

  [[nodiscard]] uint32_t end() const { return begin_ + static_cast<uint32_t>(run_.size()); }
  void drop_run();
  void ask_later();

  std::vector<int32_t> run_;
  uint32_t begin_ = 0;     ///< position of run_[0]
  uint32_t answered_ = 0;  ///< position from which run_ is an answer and no assumption of ours
  uint32_t match_ = 0;     ///< what matched before answered_
  uint32_t known_ = 0;     ///< tokens of the last follow()
  std::vector<GuessOutcome> outcomes_;
  std::optional<Asked> asked_;
  uint32_t interval_ = 1;  ///< grows with useless answers
  uint32_t next_ask_ = 0;  ///< ask when there are so many tokens
};

}  // namespace troupe::engine
