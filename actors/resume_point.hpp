// What a client keeps of one request so that it can go on anywhere: prompt, output so far,
// parameters, seed, attempt. No CAF; fed with deltas, says what is new.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "actors/client.hpp"
#include "base/result.hpp"
#include "schemas/cluster.pb.h"
#include "schemas/request.pb.h"

namespace troupe::actors {

class ResumePoint {
 public:
  ResumePoint() = default;
  /// From the front's answer; `choices` outputs start empty.
  ResumePoint(v1::PreparedRequest prepared, const GenerateRequest& request);

  /// Begins the next attempt and says what to send to the decode worker; only choices that are not
  /// finished are in it.
  v1::StartRequest next_attempt(const v1::Placement& placement, uint64_t session);
  /// The tokens that a prefill worker is given: the prompt and, with one choice, the output so far.
  [[nodiscard]] std::vector<int32_t> prefill_tokens() const;

  struct Accepted {
    ClientDelta delta;  ///< only what was not held already
    bool choice_finished = false;
    std::optional<Error> failure;  ///< the worker gave the choice up
    bool closing = false;          ///< with a failure: the whole cluster is being stopped
    bool gap = false;              ///< a delta is missing: the attempt must be repeated
  };
  /// Takes a delta. Those of other attempts and indices held already are dropped.
  Accepted accept(const v1::Delta& delta);

  [[nodiscard]] bool all_finished() const;
  [[nodiscard]] uint32_t attempt() const { return attempt_; }
  [[nodiscard]] const v1::PreparedRequest& prepared() const { return prepared_; }
  [[nodiscard]] uint32_t num_tokens() const;
  [[nodiscard]] const std::vector<ChoiceResult>& choices() const { return choices_; }
  /// Stats of all attempts, those that ended in a death included, summed where that means
  /// something.
  [[nodiscard]] v1::ChoiceStats stats() const;

 private:
  /// What the current attempt said of a choice becomes part of the past.
  void fold_stats(size_t choice);

  v1::PreparedRequest prepared_;
  std::vector<ChoiceResult> choices_;
  std::vector<std::string> stop_;
  bool drafts_ = true;
  uint32_t attempt_ = 0;
  v1::ChoiceStats past_;                  ///< of what ended
  std::vector<v1::ChoiceStats> current_;  ///< one per choice, as last heard
};

}  // namespace troupe::actors
