// certs: the authority and the certificates of a cluster that lives on several hosts.
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/options.hpp"
#include "launch/certificates.hpp"
#include "launch/files.hpp"
#include "launch/manifest.hpp"
#include "launch/manifest_value.hpp"
#include "launch/nearest.hpp"
#include "launch/plan.hpp"
#include "launch/salt_secret.hpp"

namespace troupe::cli {
namespace {

namespace fs = std::filesystem;

struct CertsFlags {
  std::string folder;
  std::string cluster;
  std::vector<std::string> nodes;
  std::string manifest;
  std::string host;
  std::string out;
  bool json = false;
};

int tell(const CertsFlags& flags, const std::vector<std::string>& made, const std::string& where) {
  if (flags.json) {
    nlohmann::ordered_json body = {{"folder", where}, {"made", made}};
    std::cout << body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
              << std::endl;
    return 0;
  }
  for (const std::string& name : made) std::cout << (fs::path(where) / name).string() << "\n";
  std::cout << std::flush;
  return 0;
}

int do_init(const CertsFlags& flags) {
  if (!launch::is_name(flags.cluster)) {
    return report(
        error(Code::invalid_argument, launch::in_quotes(flags.cluster) + " is not a cluster's name",
              "a name of a-z, 0-9, - and _, as in its manifest"),
        flags.json);
  }
  if (auto made = launch::make_private_folder(flags.folder); !made) {
    return report(made.error(), flags.json);
  }
  if (auto made = launch::make_authority(flags.folder, flags.cluster); !made) {
    return report(made.error(), flags.json);
  }
  if (auto made = launch::provide_salt_secret(flags.folder); !made) {
    return report(made.error(), flags.json);
  }
  return tell(flags, {"ca.pem", "ca-key.pem", launch::salt_secret_name}, flags.folder);
}

/// The nodes that were named, or those of the manifest's host and the client.
Result<std::vector<std::string>> nodes_of(const CertsFlags& flags) {
  if (flags.manifest.empty() == flags.nodes.empty()) {
    return error(
        Code::invalid_argument,
        flags.nodes.empty() ? "no node is named" : "nodes and --manifest exclude one another",
        "name nodes, such as client prefill-1, or give --manifest FILE");
  }
  for (const std::string& node : flags.nodes) {
    if (launch::is_name(node) && node != "ca" && !node.ends_with("-key")) continue;
    return error(Code::invalid_argument, launch::in_quotes(node) + " is not a node's name",
                 "a name of a-z, 0-9, - and _, not ca and not ending in -key");
  }
  if (!flags.nodes.empty()) return flags.nodes;
  TROUPE_ASSIGN(const launch::Manifest manifest, launch::read_manifest_file(flags.manifest));
  TROUPE_ASSIGN(
      const launch::LaunchPlan plan,
      launch::make_plan(manifest, flags.host.empty() ? manifest.spec.hosts(0).name() : flags.host));
  std::vector<std::string> nodes = {"client"};
  for (const launch::PlannedProcess& process : plan.processes) {
    if (process.is_here || flags.host.empty()) nodes.push_back(process.name);
  }
  return nodes;
}

Status issue(const CertsFlags& flags, const std::vector<std::string>& nodes,
             std::vector<std::string>& made) {
  if (!flags.out.empty()) TROUPE_TRY(launch::make_private_folder(flags.out));
  if (auto secret = launch::provide_salt_secret(flags.folder); !secret) return secret.error();
  for (const std::string& node : nodes) {
    TROUPE_TRY(launch::make_certificate(flags.folder, node, flags.out));
    made.push_back(node + ".pem");
    made.push_back(node + "-key.pem");
  }
  return {};
}

int do_issue(const CertsFlags& flags) {
  const auto nodes = nodes_of(flags);
  if (!nodes) return report(nodes.error(), flags.json);
  std::vector<std::string> made;
  if (auto issued = issue(flags, *nodes, made); !issued) return report(issued.error(), flags.json);
  return tell(flags, made, flags.out.empty() ? flags.folder : flags.out);
}

}  // namespace

void add_certs(CLI::App& app, Chosen& run) {
  CLI::App* command =
      app.add_subcommand("certs", "Make the certificates of a cluster on several hosts");
  command->require_subcommand(1);
  auto flags = std::make_shared<CertsFlags>();
  CLI::App* init = command->add_subcommand("init", "Make a cluster's authority");
  init->add_option("folder", flags->folder, "where it goes; made with mode 0700")->required();
  init->add_option("cluster", flags->cluster, "the cluster's name")->required();
  init->add_flag("--json", flags->json, "one JSON object on stdout (default off)");
  init->callback([&run, flags] { run = [flags] { return do_init(*flags); }; });
  CLI::App* issue_command = command->add_subcommand("issue", "Sign certificates with it");
  issue_command->add_option("folder", flags->folder, "the folder of the authority")->required();
  issue_command->add_option("nodes", flags->nodes, "names of nodes; client: of the users");
  add_text(*issue_command, "--manifest", flags->manifest,
           "a manifest: client and all its processes (default: the nodes named)");
  add_text(*issue_command, "--host", flags->host,
           "with --manifest: only processes of that host (default: all)");
  add_text(*issue_command, "--out", flags->out,
           "a folder to carry to a host: certificates, ca.pem and salt-secret, not the authority's "
           "key (default: the folder of the authority)");
  issue_command->add_flag("--json", flags->json, "one JSON object on stdout (default off)");
  issue_command->callback([&run, flags, issue_command] {
    if (auto fit = check_together(*issue_command); !fit) throw FlagError(fit.error());
    run = [flags] { return do_issue(*flags); };
  });
}

}  // namespace troupe::cli
