// node: one process of a cluster, started by the supervisor, or by hand to join a running cluster.
#include <algorithm>
#include <csignal>
#include <functional>
#include <iostream>
#include <memory>

#include "base/concat.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/gateway_options.hpp"
#include "cli/join_options.hpp"
#include "cli/node_options.hpp"
#include "cli/options.hpp"
#include "cli/signals.hpp"
#include "launch/node.hpp"

namespace troupe::cli {
namespace {

struct NodeFlags {
  std::string run_dir;
  JoinFlags join;
};

constexpr int join_timeout_ms = 60'000;
constexpr int64_t join_drain_ms = 30'000;  // a manifest's default

/// Whether another start of the same process would meet the same end.
bool is_final(Code code) {
  return code == Code::invalid_argument || code == Code::not_found || code == Code::unsupported ||
         code == Code::corrupt || code == Code::failed_precondition;
}

int refuse_start(const Error& error) {
  report(error, false);
  return is_final(error.code) ? launch::refused_exit : 1;
}

bool is_told_to_stop(const sigset_t& signals) {
  const timespec at_once{};
  return sigtimedwait(&signals, nullptr, &at_once) > 0;
}

/// Joins, unless it is told to stop meanwhile: the directory may be gone with all the others.
Status join(actors::Node& node, int timeout_ms, const sigset_t& signals) {
  constexpr int look_ms = 100;
  for (int left_ms = timeout_ms;; left_ms -= look_ms) {
    auto joined = node.wait_joined(std::min(left_ms, look_ms));
    const bool is_over = joined || is_final(joined.error().code);
    if (is_over || left_ms <= look_ms) return joined;
    if (is_told_to_stop(signals)) {
      return error(Code::cancelled, "told to stop before it had joined the cluster");
    }
  }
}

/// Streams end or move before the process does; another signal says that it shall not wait.
void drain(actors::Node& node, int64_t left_ms, const sigset_t& signals) {
  constexpr int64_t look_ms = 100;
  for (; left_ms > 0 && !node.drain(std::min(left_ms, look_ms)); left_ms -= look_ms) {
    if (is_told_to_stop(signals)) return;
  }
}

void drain(gateway::Gateway& http, int64_t left_ms, const sigset_t& signals) {
  constexpr int64_t look_ms = 100;
  for (; left_ms > 0 && !http.drain(std::min(left_ms, look_ms)); left_ms -= look_ms) {
    if (is_told_to_stop(signals)) return;
  }
}

void drain(actors::Node& node, bool is_store, const launch::NodeStart& start,
           const sigset_t& signals) {
  const auto& limits = start.spec.limits();
  int64_t left_ms = static_cast<int64_t>(limits.drain_timeout_ms());
  // Whoever is being stopped with the others is killed after stop_timeout, and a store among them
  // has nobody to leave its blocks to: it writes them.
  if (launch::is_stopping(start)) {
    left_ms = std::min(left_ms, static_cast<int64_t>(limits.stop_timeout_ms() / 2));
    if (is_store) {
      node.flush(left_ms);
      return;
    }
  }
  drain(node, left_ms, signals);
}

/// Says goodbye; the gateway is null if the process is none.
using Leave = std::function<void(actors::Node&, gateway::Gateway*)>;

/// Starts the node, joins and runs until one of end_signals(), which the caller has blocked; then
/// `leave` says goodbye.
int run_node(const actors::NodeOptions& options, std::optional<gateway::GatewayOptions> wanted,
             int timeout_ms, const sigset_t& signals, const Leave& leave) {
  auto node = actors::Node::start(options);
  if (!node) return refuse_start(node.error());
  if (auto joined = join(**node, timeout_ms, signals); !joined) return refuse_start(joined.error());
  std::unique_ptr<gateway::Gateway> http;
  if (wanted) {
    const bool is_directory = options.directory_port == 0;
    wanted->cluster = watcher_of(options, is_directory ? options.host : options.directory_host,
                                 is_directory ? (*node)->port() : options.directory_port);
    auto started = gateway::Gateway::start(*wanted, **node);
    if (!started) return refuse_start(started.error());
    http = std::move(*started);
  }
  if (auto told = launch::announce_ready((*node)->port()); !told) {
    return report(told.error(), false);
  }
  log_info("node",
           concat(options.name, " is ready on port ", (*node)->port(), " ", (*node)->describe()));
  int signal = 0;
  sigwait(&signals, &signal);
  log_info("node", concat(options.name, " stops on signal ", signal));
  leave(**node, http.get());
  http.reset();
  node->reset();
  return 0;
}

int do_join(const JoinFlags& flags, const sigset_t& signals) {
  const auto options = join_options(flags);
  if (!options) return refuse_start(options.error());
  return run_node(
      *options, {}, join_timeout_ms, signals,
      [&](actors::Node& node, gateway::Gateway*) { drain(node, join_drain_ms, signals); });
}

int do_node(const NodeFlags& flags) {
  set_log_level(parse_log_level(setting("TROUPE_LOG").value_or("info"), LogLevel::info));
  if (!flags.join.directory.empty()) restart_with_environment();
  // Signals are taken by sigwait below; threads that start later inherit the mask.
  const sigset_t signals = block_end_signals();

  if (!flags.join.directory.empty()) return do_join(flags.join, signals);
  auto start = launch::node_start(flags.run_dir, flags.join.name);
  if (!start) return refuse_start(start.error());
  auto options = node_options(*start);
  if (!options) return refuse_start(options.error());
  auto wanted = gateway_options(*start);
  if (!wanted) return refuse_start(wanted.error());
  return run_node(*options, *wanted, static_cast<int>(start->spec.limits().start_timeout_ms()),
                  signals, [&](actors::Node& node, gateway::Gateway* http) {
                    const bool is_end = launch::is_stopping(*start);
                    // With the whole cluster the streams end at once.
                    if (http != nullptr) {
                      drain(*http, is_end ? 1 : (*options).limits.drain_timeout_ms, signals);
                    }
                    if (is_end && start->has_directory_here) node.announce_end();
                    // With the whole cluster its streams have ended; a store writes what it has.
                    const bool is_store = options->store_bytes > 0;
                    if (!is_end || !start->has_directory_here || is_store) {
                      drain(node, is_store, *start, signals);
                    }
                  });
}

/// Which flags belong to which of the two ways.
Status check_flags(const CLI::App& command, const NodeFlags& flags) {
  if (flags.run_dir.empty() == flags.join.directory.empty()) {
    return error(Code::invalid_argument,
                 flags.run_dir.empty() ? "neither --join nor --run-dir is given"
                                       : "--join and --run-dir exclude one another",
                 "--join HOST:PORT joins a running cluster; --run-dir is what troupe up gives the "
                 "processes that it starts");
  }
  if (flags.join.name.empty()) {
    return error(Code::invalid_argument, "--name is missing",
                 "expected the name in the node's certificate");
  }
  if (flags.run_dir.empty()) return check_join(flags.join);
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || name == "--run-dir" || name == "--name") continue;
    return error(Code::invalid_argument, name + " means nothing with --run-dir",
                 "the manifest says it");
  }
  return {};
}

}  // namespace

void add_node(CLI::App& app, Chosen& run) {
  auto flags = std::make_shared<NodeFlags>();
  CLI::App* command = app.add_subcommand(
      "node",
      "Join a running cluster with one more process (troupe up starts those of a manifest)");
  add_text(*command, "--run-dir", flags->run_dir,
           "the cluster's run directory, given by troupe up (default: none)");
  add_join_flags(*command, flags->join);
  command->callback([&run, flags, command] {
    if (auto fit = check_flags(*command, *flags); !fit) throw FlagError(fit.error());
    run = [flags] { return do_node(*flags); };
  });
}

}  // namespace troupe::cli
