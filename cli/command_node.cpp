// node: one process of a cluster, started by the supervisor.
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
  if (auto joined = (*node)->wait_joined(timeout_ms); !joined) return report(joined.error(), false);
  if (auto told = launch::announce_ready((*node)->port()); !told)
    return report(told.error(), false);
  log_info("node", concat(name, " is ready on port ", (*node)->port(), " ", (*node)->describe()));
  int signal = 0;
  sigwait(&signals, &signal);
  log_info("node", concat(name, " stops on signal ", signal));
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
