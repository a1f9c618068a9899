#include "launch/cluster.hpp"

#include <signal.h>

#include "base/clock.hpp"
#include "base/concat.hpp"
#include "launch/leftover.hpp"
#include "launch/nearest.hpp"
#include "launch/run_directory.hpp"

namespace troupe::launch {
namespace {

// More than a supervisor gives its processes, so that it can tidy up itself.
constexpr int64_t supervisor_grace_ms = 5'000;
constexpr int64_t killed_wait_ms = 5'000;

Error not_running(const std::string& name) {
  const auto clusters = running_clusters();
  const bool has_others = clusters.ok() && !clusters->empty();
  return error(Code::not_found, concat("no cluster \"", name, "\" is running"),
               has_others ? "running: " + list_of(*clusters) : "");
}

Result<std::pair<RunDirectory, ClusterState>> find_running(const std::string& name) {
  auto folder = RunDirectory::find(name);
  if (!folder.ok()) {
    return folder.error().code == Code::not_found ? not_running(name) : folder.error();
  }
  auto state = folder->read_state();
  if (!state.ok()) {
    return state.error().code == Code::not_found ? not_running(name) : state.error();
  }
  look_at_processes(*state);
  return std::pair(std::move(folder).value(), std::move(state).value());
}

Result<std::string> choose(const std::string& name) {
  if (!name.empty()) return name;
  TROUPE_ASSIGN(const std::vector<std::string> clusters, running_clusters());
  if (clusters.size() == 1) return clusters.front();
  // What a killed supervisor left is asked for by its name when another cluster is alive.
  std::vector<std::string> alive;
  for (const std::string& cluster : clusters) {
    const auto found = find_running(cluster);
    if (found.ok() && !found->second.is_stale) alive.push_back(cluster);
  }
  if (alive.size() == 1) return alive.front();
  if (clusters.empty()) {
    return error(Code::not_found, "no cluster is running", "troupe up deploy/quickstart.yaml");
  }
  return error(Code::invalid_argument, "several clusters are running: " + list_of(clusters),
               "say which one");
}

}  // namespace

std::vector<std::string> kill_leftover(const ClusterState& state) {
  std::vector<std::string> names;
  for (const ProcessState& process : state.processes) {
    if (!signal_process(process.id, SIGKILL, true)) continue;
    names.push_back(process.name);
    wait_gone(process.id, killed_wait_ms);
  }
  return names;
}

Result<DownReport> down(const std::string& name) {
  const int64_t start_us = now_us();
  TROUPE_ASSIGN(const std::string cluster, choose(name));
  TROUPE_ASSIGN(const auto found, find_running(cluster));
  const auto& [folder, state] = found;
  DownReport report{.cluster = cluster, .was_stale = state.is_stale, .leftover = {}};
  if (!state.is_stale) {
    const auto patience_ms = static_cast<int64_t>(state.stop_timeout_ms) + supervisor_grace_ms;
    signal_process(state.supervisor, SIGTERM, false);
    if (!wait_gone(state.supervisor, patience_ms)) {
      report.leftover.emplace_back("supervisor");
      signal_process(state.supervisor, SIGKILL, false);
      wait_gone(state.supervisor, killed_wait_ms);
    }
  }
  // Whoever starts the cluster anew in this very moment holds the lock, and the folder is theirs.
  const auto lock = folder.lock();
  if (!lock.ok()) return report;
  for (std::string& process : kill_leftover(state)) report.leftover.push_back(std::move(process));
  folder.clear();
  report.took_ms = (now_us() - start_us) / 1000;
  return report;
}

Result<ClusterState> status(const std::string& name) {
  TROUPE_ASSIGN(const std::string cluster, choose(name));
  TROUPE_ASSIGN(auto found, find_running(cluster));
  return std::move(found.second);
}

Result<std::vector<std::string>> running_clusters() {
  TROUPE_ASSIGN(const std::vector<std::string> known, known_clusters());
  std::vector<std::string> running;
  for (const std::string& cluster : known) {
    const auto folder = RunDirectory::find(cluster);
    std::error_code ignored;
    if (folder.ok() && std::filesystem::exists(folder->state_file(), ignored)) {
      running.push_back(cluster);
    }
  }
  return running;
}

}  // namespace troupe::launch
