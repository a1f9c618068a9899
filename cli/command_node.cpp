// node: one process of a cluster, started by the supervisor.
#include <algorithm>
#include <csignal>
#include <iostream>
#include <memory>

#include "base/concat.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "cli/commands.hpp"
#include "cli/node_options.hpp"
#include "cli/options.hpp"
#include "launch/node.hpp"

namespace troupe::cli {
namespace {

bool is_told_to_stop(const sigset_t& signals) {
  const timespec at_once{};
  return sigtimedwait(&signals, nullptr, &at_once) > 0;
}

/// Joins, unless it is told to stop meanwhile: the directory may be gone with all the others.
Status join(actors::Node& node, int timeout_ms, const sigset_t& signals) {
  constexpr int look_ms = 100;
  for (int left_ms = timeout_ms;; left_ms -= look_ms) {
    auto joined = node.wait_joined(std::min(left_ms, look_ms));
    if (joined || left_ms <= look_ms) return joined;
    if (is_told_to_stop(signals)) {
      return error(Code::cancelled, "told to stop before it had joined the cluster");
    }
  }
}

/// Streams end or move before the process does; another signal says that it shall not wait.
void drain(actors::Node& node, const launch::NodeStart& start, const sigset_t& signals) {
  const auto& limits = start.spec.limits();
  int64_t left_ms = static_cast<int64_t>(limits.drain_timeout_ms());
  // Whoever is being stopped with the others is killed after stop_timeout.
  if (launch::is_stopping(start)) {
    left_ms = std::min(left_ms, static_cast<int64_t>(limits.stop_timeout_ms() / 2));
  }
  constexpr int64_t look_ms = 100;
  for (; left_ms > 0 && !node.drain(std::min(left_ms, look_ms)); left_ms -= look_ms) {
    if (is_told_to_stop(signals)) return;
  }
}

int do_node(const std::string& run_dir, const std::string& name) {
  set_log_level(parse_log_level(setting("TROUPE_LOG").value_or("info"), LogLevel::info));
  // Signals are taken by sigwait below; threads that start later inherit the mask.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  auto start = launch::node_start(run_dir, name);
  if (!start) return report(start.error(), false);
  auto options = node_options(*start);
  if (!options) return report(options.error(), false);
  auto node = actors::Node::start(*options);
  if (!node) return report(node.error(), false);
  const auto timeout_ms = static_cast<int>(start->spec.limits().start_timeout_ms());
  if (auto joined = join(**node, timeout_ms, signals); !joined) {
    return report(joined.error(), false);
  }
  if (auto told = launch::announce_ready((*node)->port()); !told)
    return report(told.error(), false);
  log_info("node", concat(name, " is ready on port ", (*node)->port(), " ", (*node)->describe()));
  int signal = 0;
  sigwait(&signals, &signal);
  log_info("node", concat(name, " stops on signal ", signal));
  if (launch::is_stopping(*start) && start->has_directory_here) {
    (*node)->announce_end();
  } else {
    drain(**node, *start, signals);
  }
  node->reset();
  return 0;
}

}  // namespace

void add_node(CLI::App& app, Chosen& run) {
  auto run_dir = std::make_shared<std::string>();
  auto name = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("node", "Run one process of a cluster (troupe up does this)");
  command->add_option("--run-dir", *run_dir, "the cluster's run directory")->required();
  command->add_option("--name", *name, "the process's name in the manifest")->required();
  command->callback([&run, run_dir, name] { run = [=] { return do_node(*run_dir, *name); }; });
}

}  // namespace troupe::cli
