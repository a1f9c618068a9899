// status: what the supervisor knows of the processes, and what the cluster says of itself.
#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "launch/cluster.hpp"
#include "launch/nearest.hpp"
#include "launch/text_table.hpp"

namespace troupe::cli {
namespace {

using Json = nlohmann::ordered_json;

Json worker_json(const actors::WorkerStatus& worker) {
  return {{"name", worker.name},
          {"waiting", worker.waiting},
          {"running", worker.running},
          {"sessions", worker.sessions},
          {"blocks_free", worker.blocks_free},
          {"blocks_indexed", worker.blocks_indexed},
          {"blocks_total", worker.blocks_total},
          {"prefill_tokens", worker.prefill_tokens},
          {"decode_tokens", worker.decode_tokens},
          {"cached_tokens", worker.cached_tokens},
          {"drafted", worker.drafted},
          {"accepted", worker.accepted},
          {"draining", worker.draining}};
}

/// What the directory knows of a host of the manifest.
struct HostHealth {
  std::string word;  ///< ready, partly, missing; unknown without a directory
  std::vector<std::string> missing;
};

HostHealth health_of(const launch::HostState& host, const Result<actors::ClusterView>& view) {
  if (!view) return {"unknown", {}};
  HostHealth health;
  for (const std::string& process : host.processes) {
    const bool joined = std::ranges::any_of(
        view->nodes, [&](const actors::NodeStatus& node) { return node.name == process; });
    if (!joined) health.missing.push_back(process);
  }
  const bool none = health.missing.size() == host.processes.size();
  health.word = health.missing.empty() ? "ready" : none ? "missing" : "partly";
  return health;
}

/// Members that no manifest names: they came with troupe node --join.
std::vector<actors::NodeStatus> guests(const launch::ClusterState& state,
                                       const actors::ClusterView& view) {
  std::vector<actors::NodeStatus> found;
  for (const actors::NodeStatus& node : view.nodes) {
    const bool planned = std::ranges::any_of(state.hosts, [&](const launch::HostState& host) {
      return std::ranges::find(host.processes, node.name) != host.processes.end();
    });
    if (!planned) found.push_back(node);
  }
  return found;
}

Json node_json(const actors::NodeStatus& node) {
  return {{"name", node.name},
          {"roles", node.roles},
          {"address", node.address},
          {"pid", node.pid},
          {"incarnation", node.incarnation},
          {"health", node.health}};
}

Json store_json(const actors::StoreStatus& store) {
  return {{"name", store.name},
          {"blocks", store.blocks},
          {"blocks_total", store.blocks_total},
          {"blocks_known", store.blocks_known},
          {"blocks_arriving", store.blocks_arriving},
          {"blocks_pinned", store.blocks_pinned},
          {"block_bytes", store.block_bytes},
          {"bytes", store.blocks * store.block_bytes},
          {"memory_bytes", store.memory_bytes},
          {"sessions", store.sessions},
          {"hits", store.hits},
          {"misses", store.misses},
          {"stored", store.stored},
          {"evicted", store.evicted},
          {"refused", store.refused},
          {"corrupt", store.corrupt},
          {"disk_bytes_max", store.disk_bytes_max},
          {"disk_bytes", store.disk_bytes},
          {"disk_blocks", store.disk_blocks},
          {"disk_waiting", store.disk_waiting},
          {"disk_read", store.disk_read},
          {"disk_written", store.disk_written},
          {"disk_dropped", store.disk_dropped},
          {"disk_corrupt", store.disk_corrupt},
          {"disk_failed", store.disk_failed},
          {"draining", store.draining},
          {"blocks_leaving", store.blocks_leaving}};
}

Json to_json(const launch::ClusterState& state, const Result<actors::ClusterView>& view) {
  Json body;
  body["cluster"] = state.name;
  body["phase"] = state.is_stale ? "stale" : launch::name(state.phase);
  body["host"] = state.host;
  body["manifest_digest"] = state.manifest_digest;
  body["processes"] = Json::array();
  for (const launch::ProcessState& process : state.processes) {
    body["processes"].push_back({{"name", process.name},
                                 {"roles", process.roles},
                                 {"pid", process.id.pid},
                                 {"incarnation", process.incarnation},
                                 {"health", launch::name(process.health)},
                                 {"address", concat(process.address, ":", process.port)},
                                 {"last_exit", process.last_exit},
                                 {"log", process.log_file}});
  }
  body["hosts"] = Json::array();
  for (const launch::HostState& host : state.hosts) {
    const HostHealth health = health_of(host, view);
    body["hosts"].push_back({{"name", host.name},
                             {"address", host.address},
                             {"here", host.name == state.host},
                             {"processes", host.processes},
                             {"health", health.word},
                             {"missing", health.missing}});
  }
  body["joined"] = Json::array();
  if (view && !state.hosts.empty()) {
    for (const auto& node : guests(state, *view)) body["joined"].push_back(node_json(node));
  }
  body["workers"] = Json::array();
  body["stores"] = Json::array();
  body["bookings"] = 0;
  if (!view) {
    body["unreachable"] = view.error().message();
    return body;
  }
  for (const auto& worker : view->workers) body["workers"].push_back(worker_json(worker));
  for (const auto& store : view->stores) body["stores"].push_back(store_json(store));
  body["bookings"] = view->bookings;
  return body;
}

void print_hosts(const launch::ClusterState& state, const Result<actors::ClusterView>& view) {
  if (state.hosts.size() > 1) {
    std::vector<std::vector<std::string>> rows = {{"HOST", "ADDRESS", "PROCESSES", "HEALTH"}};
    for (const launch::HostState& host : state.hosts) {
      const HostHealth health = health_of(host, view);
      rows.push_back(
          {host.name + (host.name == state.host ? " (this one)" : ""), host.address,
           std::to_string(host.processes.size()),
           health.word + (health.missing.empty() ? std::string()
                                                 : ": no " + launch::list_of(health.missing))});
    }
    std::cout << "\n" << launch::text_table(rows);
  }
  if (!view || state.hosts.empty()) return;
  std::vector<std::vector<std::string>> rows = {{"JOINED", "ROLES", "ADDRESS", "PID", "HEALTH"}};
  for (const actors::NodeStatus& node : guests(state, *view)) {
    rows.push_back({node.name, launch::joined(node.roles), node.address, std::to_string(node.pid),
                    node.health});
  }
  if (rows.size() > 1) std::cout << "\n" << launch::text_table(rows);
}

void print(const launch::ClusterState& state, const Result<actors::ClusterView>& view) {
  std::cout << launch::to_table(state);
  print_hosts(state, view);
  if (!view) {
    std::cout << "the cluster does not answer: " << view.error().message() << std::endl;
    return;
  }
  std::cout << "\nworker      waiting  running  blocks used/total  prefilled  decoded  reused\n";
  for (const auto& w : view->workers) {
    std::cout << std::left << std::setw(12) << w.name << std::right << std::setw(7) << w.waiting
              << std::setw(9) << w.running << std::setw(12) << w.blocks_total - w.blocks_free << "/"
              << std::left << std::setw(6) << w.blocks_total << std::right << std::setw(11)
              << w.prefill_tokens << std::setw(9) << w.decode_tokens << std::setw(8)
              << w.cached_tokens << (w.draining ? "  drains" : "") << "\n";
  }
  if (!view->stores.empty())
    std::cout << "\nstore       blocks used/total     MiB    hits  misses  on disk  disk MiB\n";
  for (const auto& s : view->stores) {
    std::cout << std::left << std::setw(12) << s.name << std::right << std::setw(11) << s.blocks
              << "/" << std::left << std::setw(6) << s.blocks_total << std::right << std::setw(7)
              << (s.blocks * s.block_bytes >> 20) << std::setw(8) << s.hits << std::setw(8)
              << s.misses << std::setw(9) << s.disk_blocks << std::setw(10) << (s.disk_bytes >> 20)
              << "\n";
  }
  std::cout << std::flush;
}

int do_status(const std::string& cluster, bool json) {
  auto state = launch::status(cluster);
  if (!state) return report(state.error(), json);
  ClusterOptions options;
  options.cluster = state->name;
  auto connection = connect(options);
  Result<actors::ClusterView> view = connection ? connection->client->view(std::chrono::seconds(5))
                                                : Result<actors::ClusterView>(connection.error());
  if (json) {
    std::cout << to_json(*state, view).dump() << std::endl;
  } else {
    print(*state, view);
  }
  return view ? 0 : 1;
}

}  // namespace

void add_status(CLI::App& app, Chosen& run) {
  auto cluster = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("status", "Show the processes and workers of a cluster");
  command->add_option("cluster", *cluster, "its name (default: the only one)");
  command->add_flag("--json", *json, "one JSON object on stdout (default off)");
  command->callback([&run, cluster, json] { run = [=] { return do_status(*cluster, *json); }; });
}

}  // namespace troupe::cli
