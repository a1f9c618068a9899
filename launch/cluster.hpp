// up, down and status: what the command line does with a cluster on this machine.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "launch/cluster_state.hpp"
#include "launch/plan.hpp"

namespace troupe::launch {

struct UpOptions {
  std::filesystem::path manifest;
  /// Which host of the manifest this machine is; may be empty if that is clear.
  std::string host;
  /// Program and first arguments of every process; "--run-dir DIR --name NAME" is appended. Empty:
  /// this very program with "node".
  std::vector<std::string> command;
  /// Called for each step with a line for people.
  std::function<void(std::string_view line)> progress;
};

struct UpReport {
  ClusterState state;
  std::vector<std::string> notes;  ///< of the plan
  int64_t took_ms = 0;
};

/// Starts a cluster and returns once every process is ready, or with what is wrong (then nothing is
/// left running). SIGINT and SIGTERM meanwhile stop the start: Code::cancelled. The calling process
/// must not have started any thread.
Result<UpReport> up(const UpOptions& options);

struct DownReport {
  std::string cluster;
  bool was_stale = false;             ///< its supervisor had died before
  std::vector<std::string> leftover;  ///< processes that had to be killed here
  int64_t took_ms = 0;
};

/// Stops a cluster (empty name: the only one) and returns once nothing of it runs.
Result<DownReport> down(const std::string& name = {});

/// What is known of a cluster (empty name: the only one). not_found if there is none.
Result<ClusterState> status(const std::string& name = {});

/// The names of the clusters with a state file: those that run and those left by a crash.
Result<std::vector<std::string>> running_clusters();

}  // namespace troupe::launch
