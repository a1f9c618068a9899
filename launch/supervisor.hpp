// The process that keeps a cluster's processes alive on one host.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "launch/cluster_state.hpp"
#include "launch/files.hpp"
#include "launch/plan.hpp"
#include "launch/run_directory.hpp"

namespace troupe::launch {

struct SupervisorOptions {
  RunDirectory run_directory;
  LaunchPlan plan;
  ClusterState state;                ///< filled in but for the processes and the supervisor
  std::vector<std::string> command;  ///< program and first arguments of every process
  int64_t start_timeout_ms = 60'000;
  int64_t stop_timeout_ms = 10'000;
  /// Told what happens until the cluster is ready, one line each; "ready" or "failed" and a reason
  /// come last. Whoever reads it going away before that ends the supervisor.
  Descriptor report;
};

/// Starts the processes (the one with the directory first, the others once it is ready), restarts
/// those that die, and returns once all are gone: after SIGTERM or SIGINT, or when the start
/// failed. The caller has one thread. Returns the exit status.
int supervise(SupervisorOptions options);

}  // namespace troupe::launch
