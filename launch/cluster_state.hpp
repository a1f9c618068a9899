// What is known of a running cluster: cluster.json in its run directory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/process_id.hpp"

namespace troupe::launch {

enum class Health : uint8_t {
  waiting,   ///< for the directory
  starting,  ///< runs, has not said that it is ready
  ready,
  restarting,  ///< died; will be started again after a back-off
  stopping,
  stopped,
  dead,     ///< not in the file: status() found that the process is gone
  unknown,  ///< not in the file: status() found it alive, with nobody who watches it
};
const char* name(Health health);

enum class Phase : uint8_t { starting, ready, stopping };
const char* name(Phase phase);

struct ProcessState {
  std::string name;
  std::vector<std::string> roles;
  ProcessId id;              ///< pid 0: none now
  uint64_t incarnation = 0;  ///< 1 for the first start
  std::string address;
  uint16_t port = 0;  ///< 0: not known yet
  Health health = Health::waiting;
  std::string last_exit;  ///< how the incarnation before this one ended; may be empty
  std::string log_file;
};

/// A host of the manifest and the processes that belong to it.
struct HostState {
  std::string name;
  std::string address;
  std::vector<std::string> processes;
};

struct ClusterState {
  std::string name;
  std::string run_dir;
  Phase phase = Phase::starting;
  ProcessId supervisor;
  int64_t started_unix_s = 0;
  std::string manifest_file;
  std::string manifest_digest;
  std::string host;            ///< of the manifest, that this supervisor runs
  std::string directory_host;  ///< address to connect to
  uint16_t directory_port = 0;
  std::string certificates;           ///< folder; a client uses certificate_files(folder, "client")
  uint64_t stop_timeout_ms = 10'000;  ///< what a process gets to stop in
  std::vector<HostState> hosts;       ///< all of the manifest
  std::vector<ProcessState> processes;  ///< those of this host
  /// The supervisor is gone without having tidied up. Not in the file; status() finds out.
  bool is_stale = false;

  [[nodiscard]] const ProcessState* find(const std::string& process) const;
};

/// Sets is_stale, and the health of each process to what the kernel says of it now: a process that
/// died may not have been noticed yet, and after the supervisor nobody notices any.
void look_at_processes(ClusterState& state);

/// One JSON object.
std::string to_json(const ClusterState& state);

/// A table for people.
std::string to_table(const ClusterState& state);

Result<ClusterState> parse_cluster_state(const std::string& json);

}  // namespace troupe::launch
