// What becomes of many requests when processes of their cluster die or stop in the middle.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "tests/support/cluster_fixture.hpp"

namespace troupe::testing {

enum class Harm { kill, stop };

struct Fault {
  std::vector<std::string> victims;
  Harm harm = Harm::kill;
  int stop_ms = 0;  ///< how long they stand (Harm::stop)

  [[nodiscard]] std::string text() const;
};

/// One line of the recovery table.
struct Recovery {
  std::string what;
  size_t requests = 0;
  size_t moved = 0;    ///< needed another attempt
  size_t failed = 0;   ///< of those that ran
  size_t changed = 0;  ///< another text, token or log-probability than undisturbed
  size_t new_failed = 0;
  std::vector<int64_t> gaps_ms;  ///< longest silence of each stream after the fault, sorted
  int64_t new_wait_ms = 0;       ///< longest life of a new request that failed
  std::string left;              ///< what did not come back to idle; empty: nothing

  [[nodiscard]] int64_t p50_ms() const { return gaps_ms.empty() ? 0 : gaps_ms[gaps_ms.size() / 2]; }
  [[nodiscard]] int64_t max_ms() const { return gaps_ms.empty() ? 0 : gaps_ms.back(); }
  [[nodiscard]] std::string line() const;
};

struct RecoveryLoad {
  size_t streams = 50;      ///< running when the fault comes
  size_t new_requests = 5;  ///< sent right after it
  uint32_t tokens = 400;
};

/// Runs the load, does the harm once every stream has begun, waits for all ends and for the cluster
/// to be whole and idle again.
Recovery run_fault(TestCluster& cluster, Reference& reference, const Fault& fault,
                   const RecoveryLoad& load);

/// No stream ended or changed or was silent for longer, new requests were told in time, and nothing
/// is left.
void check_recovery(const Recovery& row, int64_t silence_max_ms);

}  // namespace troupe::testing
