// Where two runs part: compares logs of steps (step_log.hpp) by what each result depends on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "engine/step_log.hpp"

namespace troupe::engine {

/// A result and the step that brought it.
struct LoggedPlace {
  LoggedResult result;
  uint64_t step = 0;
  std::vector<LoggedSpan> spans;  ///< of that step; filled for the first difference only
};

struct StepDifference {
  LoggedPlace a, b;
  bool same_log = false;  ///< both are of log A: it contradicts itself
};

struct StepComparison {
  uint64_t steps_a = 0, steps_b = 0;
  uint64_t compared = 0;  ///< results that both have
  uint64_t only_a = 0, only_b = 0;
  uint64_t differing = 0;
  uint64_t failures = 0;                ///< sequences that failed, in either; not compared
  std::optional<StepDifference> first;  ///< the one that comes first in log A

  [[nodiscard]] bool equal() const { return differing == 0; }
};

/// Give it all of A, then all of B.
class StepDiff {
 public:
  /// Errors: exhausted (limits::step_log_compared_max).
  Status add_a(const LoggedStep& step);
  void add_b(const LoggedStep& step);
  [[nodiscard]] StepComparison finish() const;

 private:
  struct Key {
    uint64_t prefix, sampling;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const { return key.prefix ^ (key.sampling * 31); }
  };
  struct Known {
    LoggedResult result;
    uint64_t step;
    uint64_t order;  ///< among A's results
    bool seen_in_b = false;
  };
  static Key key_of(const LoggedResult& result);
  void differ(const Known& a, const LoggedResult& b, const LoggedStep& step, bool same_log);

  std::unordered_map<Key, Known, KeyHash> known_;
  StepComparison found_;
  uint64_t order_ = 0;
  uint64_t first_order_ = UINT64_MAX;
};

/// Compares the logs at two paths. Where a path is a folder, all *.steps in it are one log, in the
/// order of their names. The steps of the first difference come with their spans. Errors: what a
/// file is not (corrupt, with its path), logs of different numerics (failed_precondition).
Result<StepComparison> compare_step_logs(const std::string& a, const std::string& b);

}  // namespace troupe::engine
