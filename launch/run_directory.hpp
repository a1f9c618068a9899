// Where a cluster keeps its state on this machine: one private folder per cluster name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/cluster_state.hpp"
#include "launch/files.hpp"

namespace troupe::launch {

/// TROUPE_RUN_DIR, else $XDG_RUNTIME_DIR/troupe, else /tmp/troupe-<uid>; made if it is missing.
/// Errors: it belongs to another user, or others can write it.
Result<std::filesystem::path> run_root();

class RunDirectory {
 public:
  /// Makes the folder of this cluster if it is missing.
  static Result<RunDirectory> make(const std::string& cluster);

  /// The folder of a cluster that has one; not_found otherwise.
  static Result<RunDirectory> find(const std::string& cluster);

  /// The folder at that very path, e.g. what a process got from its supervisor.
  static Result<RunDirectory> at(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path state_file() const { return path_ / "cluster.json"; }
  [[nodiscard]] std::filesystem::path manifest_file() const { return path_ / "manifest.pb"; }
  [[nodiscard]] std::filesystem::path certificates() const { return path_ / "certs"; }
  [[nodiscard]] std::filesystem::path log_file(const std::string& process) const;

  /// Taken by `up`, inherited and held by the supervisor. failed_precondition if it is held.
  [[nodiscard]] Result<Descriptor> lock() const;

  [[nodiscard]] Result<ClusterState> read_state() const;
  [[nodiscard]] Status write_state(const ClusterState& state) const;

  /// Makes certs/ and logs/ afresh: what an earlier run left of certificates goes, of each log one
  /// generation is kept.
  [[nodiscard]] Status prepare() const;

  /// Removes everything but the logs, the lock and the secret that kept KV blocks are named after.
  void clear() const;

 private:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// The names of all clusters that have a folder, running or not.
Result<std::vector<std::string>> known_clusters();

}  // namespace troupe::launch
