// serve: the whole cast in this process, without a manifest. It is a cluster of one process, so
// generate, chat, status and down find it like any other.
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <iostream>
#include <memory>
#include <optional>

#include "base/concat.hpp"
#include "base/log.hpp"
#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/gateway_options.hpp"
#include "cli/options.hpp"
#include "cli/signals.hpp"
#include "launch/certificates.hpp"
#include "launch/cluster.hpp"
#include "launch/run_directory.hpp"
#include "launch/salt_secret.hpp"

namespace troupe::cli {
namespace {

struct ServeFlags {
  ClusterOptions model;
  std::string name = "serve";
  std::string host = "127.0.0.1";
  uint16_t port = 0;
  std::string model_name;
  GatewayFlags gateway;
};

launch::ClusterState state_of(const ServeFlags& flags, const launch::RunDirectory& directory,
                              uint16_t port) {
  launch::ClusterState state;
  state.name = flags.name;
  state.run_dir = directory.path();
  state.phase = launch::Phase::ready;
  state.supervisor = launch::process_id(::getpid()).value_or(launch::ProcessId{});
  state.started_unix_s = std::time(nullptr);
  state.host = "local";
  state.directory_host = flags.host;
  state.directory_port = port;
  state.certificates = directory.certificates();
  launch::ProcessState process;
  process.name = "all";
  process.roles = {"directory", "router", "front", "prefill", "decode", "draft"};
  process.id = state.supervisor;
  process.incarnation = 1;
  process.address = flags.host;
  process.port = port;
  process.health = launch::Health::ready;
  state.processes.push_back(process);
  return state;
}

/// Serves until a signal comes; then streams get some time to end, unless another one comes.
Status serve_http(std::optional<gateway::GatewayOptions> wanted, const actors::NodeOptions& options,
                  actors::Node& node, const sigset_t& signals) {
  std::unique_ptr<gateway::Gateway> http;
  if (wanted) {
    wanted->cluster = watcher_of(options, options.host, node.port());
    TROUPE_ASSIGN(http, gateway::Gateway::start(*wanted, node));
    std::cerr << "HTTP at " << (wanted->server.certificate_file.empty() ? "http" : "https") << "://"
              << wanted->server.address << ":" << http->port()
              << (wanted->access.keys.empty() ? " (no key)" : "") << std::endl;
  }
  std::cerr << "try:  troupe chat   or   troupe generate \"Hello\"   (Ctrl-C stops)" << std::endl;
  int signal = 0;
  sigwait(&signals, &signal);
  if (!http) return {};
  constexpr int64_t look_ms = 100;
  const timespec at_once{};
  for (int64_t left_ms = gateway::limits::drain_ms; left_ms > 0; left_ms -= look_ms) {
    if (http->drain(look_ms) || sigtimedwait(&signals, nullptr, &at_once) > 0) break;
  }
  return {};
}

Status serve(const ServeFlags& flags, const sigset_t& signals) {
  TROUPE_ASSIGN(const auto wanted, gateway_options(flags.gateway));
  TROUPE_ASSIGN(const launch::RunDirectory directory, launch::RunDirectory::make(flags.name));
  TROUPE_ASSIGN(const Descriptor lock, directory.lock());
  TROUPE_TRY(directory.prepare());
  TROUPE_TRY(launch::make_certificates(directory.certificates(), flags.name, {"all", "client"}));
  const auto files = launch::certificate_files(directory.certificates(), "all");

  actors::NodeOptions options;
  options.cluster = flags.name;
  options.name = "all";
  options.roles = {"directory", "router", "front", "prefill", "decode", "draft"};
  options.host = flags.host;
  options.port = flags.port;
  options.tls = {files.certificate, files.key, files.authority};
  TROUPE_ASSIGN(options.salt_secret, launch::provide_salt_secret(directory.path()));
  options.model_path = flags.model.model_path;
  options.model_name =
      flags.model_name.empty() ? model_name_of(flags.model.model_path) : flags.model_name;
  options.worker = worker_options(flags.model);
  auto node = actors::Node::start(options);
  Status outcome;
  if (!node) {
    outcome = node.error();
  } else if (auto joined = (*node)->wait_joined(10'000); !joined) {
    outcome = joined;
  } else if (auto written = directory.write_state(state_of(flags, directory, (*node)->port()));
             !written) {
    outcome = written;
  } else {
    std::cerr << "serving " << options.model_name << " (" << (*node)->describe() << ")"
              << std::endl;
    outcome = serve_http(wanted, options, **node, signals);
    (*node)->announce_end();
    node->reset();
  }
  directory.clear();
  return outcome;
}

int do_serve(const ServeFlags& flags) {
  const sigset_t signals = block_end_signals();
  const Status outcome = serve(flags, signals);
  return outcome ? 0 : report(outcome.error(), false);
}

}  // namespace

void add_serve(CLI::App& app, Chosen& run) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* command = app.add_subcommand("serve", "Serve a model from this one process");
  command->add_option("model", flags->model.model_path, "a GGUF file or a checkpoint's folder")
      ->required();
  add_text(*command, "--name", flags->name, "name of this cluster of one (default serve)");
  add_text(*command, "--host", flags->host, "address to listen on (default 127.0.0.1)");
  add_whole(*command, "--port", flags->port, {0, 65535}, "7000",
            "control port, 0 to 65535; 0: a free one (default 0)");
  add_text(*command, "--model-name", flags->model_name,
           "what clients call the model (default: the file's name)");
  add_gateway_flags(*command, flags->gateway);
  add_model_options(*command, flags->model);
  command->callback([&run, flags] { run = [flags] { return do_serve(*flags); }; });
}

}  // namespace troupe::cli
