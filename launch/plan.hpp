// What would run where: the manifest turned into processes. Starts nothing.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "launch/manifest.hpp"

namespace troupe::launch {

struct PlannedProcess {
  std::string name;
  std::string field;  ///< where it stands in the manifest: "roles[1]"
  std::string host;
  std::string address;             ///< control connections
  std::string data_address;        ///< KV blocks
  bool is_here = false;            ///< whether it runs on the host planned for
  std::vector<std::string> roles;  ///< as in the manifest, in its order
  std::string model;               ///< name in the manifest; empty if no role needs one
  std::string model_path;
  uint32_t threads = 1;
  uint64_t kv_bytes = 0;          ///< 0 unless it prefills or decodes
  uint64_t draft_bytes = 0;       ///< 0 unless it drafts
  uint64_t store_bytes = 0;       ///< 0 unless it is a kv_store
  uint64_t store_disk_bytes = 0;  ///< 0 unless it is one with a disk
  std::string store_path;         ///< the same: absolute
  uint16_t port = 0;              ///< 0: a free one is chosen at start
  std::string listen;             ///< where HTTP is served; empty unless it is a gateway

  [[nodiscard]] bool plays(const std::string& role) const;
  /// Whether it needs the cluster's secret: it names blocks, or moves them.
  [[nodiscard]] bool needs_secret() const {
    return plays("front") || plays("prefill") || plays("decode") || plays("kv_store");
  }
};

struct LaunchPlan {
  std::string cluster;
  std::string host;                       ///< the one planned for
  std::vector<PlannedProcess> processes;  ///< the directory first, then as in the manifest
  /// Set for every process before exec, e.g. what UCX reads while it is loaded.
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> notes;  ///< what a user should know, one sentence each
  /// Why it would not start on this machine as it is now; only whoever looks fills it.
  std::vector<std::string> problems;

  [[nodiscard]] const PlannedProcess* find(const std::string& name) const;
};

/// Plans for one host of the manifest; empty: its only host. Errors, each with its place in the
/// manifest: invalid_argument (no directory, …), unsupported (a role or device that this build does
/// not have), not_found (no such host).
Result<LaunchPlan> make_plan(const Manifest& manifest, const std::string& host = {});

/// A table for people.
std::string to_table(const LaunchPlan& plan);

/// One JSON object: {cluster, host, processes: […], environment, notes, problems}.
std::string to_json(const LaunchPlan& plan);

}  // namespace troupe::launch
