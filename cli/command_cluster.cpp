// up, down, plan: the life of a cluster on this machine.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/concat.hpp"
#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/inspection.hpp"
#include "cli/options.hpp"
#include "launch/cluster.hpp"
#include "launch/manifest.hpp"
#include "launch/start_problems.hpp"

namespace troupe::cli {
namespace {

struct UpFlags {
  std::string manifest;
  std::string host;
  bool json = false;
};

int do_up(const UpFlags& flags) {
  launch::UpOptions options;
  options.manifest = flags.manifest;
  options.host = flags.host;
  options.progress = [](std::string_view line) { std::cerr << line << std::endl; };
  auto report_up = launch::up(options);
  if (!report_up) return report(report_up.error(), flags.json);
  if (flags.json) {
    std::cout << launch::to_json(report_up->state) << std::endl;
    return 0;
  }
  for (const std::string& note : report_up->notes) std::cerr << "note: " << note << "\n";
  std::cout << "cluster " << report_up->state.name << " is ready after " << report_up->took_ms
            << " ms\n"
            << launch::to_table(report_up->state);
  return 0;
}

int do_down(const std::string& cluster, bool json) {
  auto down = launch::down(cluster);
  if (!down) return report(down.error(), json);
  if (json) {
    nlohmann::ordered_json body = {{"cluster", down->cluster},
                                   {"was_stale", down->was_stale},
                                   {"leftover", down->leftover},
                                   {"took_ms", down->took_ms}};
    std::cout << body.dump() << std::endl;
    return 0;
  }
  std::cout << "cluster " << down->cluster << " is down after " << down->took_ms << " ms"
            << std::endl;
  for (const std::string& process : down->leftover) {
    std::cout << "  had to be killed: " << process << std::endl;
  }
  return 0;
}

/// Models that processes of this host would load and cannot.
void add_model_problems(launch::LaunchPlan& plan) {
  std::set<std::string> seen;
  for (const launch::PlannedProcess& process : plan.processes) {
    if (!process.is_here || process.model.empty() || !seen.insert(process.model_path).second) {
      continue;
    }
    const auto inspection = inspect_model(process.model_path);
    if (!inspection.ok()) {
      plan.problems.push_back(inspection.error().message());
    } else if (inspection->refusal) {
      plan.problems.push_back(inspection->refusal->message());
    }
  }
}

int do_plan(const UpFlags& flags) {
  auto manifest = launch::load_manifest(flags.manifest, flags.host);
  if (!manifest) return report(manifest.error(), flags.json);
  // The table shows every host; which one it is planned for only decides the notes.
  auto plan = launch::make_plan(*manifest,
                                flags.host.empty() ? manifest->spec.hosts(0).name() : flags.host);
  if (!plan) return report(plan.error(), flags.json);
  plan->problems = launch::start_problems(*manifest, *plan);
  add_model_problems(*plan);
  std::cout << (flags.json ? launch::to_json(*plan) + "\n" : launch::to_table(*plan));
  return 0;
}

}  // namespace

void add_up(CLI::App& app, Chosen& run) {
  auto flags = std::make_shared<UpFlags>();
  CLI::App* command = app.add_subcommand("up", "Start the cluster of a manifest");
  command->add_option("manifest", flags->manifest, "the manifest, a YAML file")->required();
  add_text(*command, "--host", flags->host,
           "which host of the manifest this is (default: the only one)");
  command->add_flag("--json", flags->json, "one JSON object on stdout (default off)");
  command->callback([&run, flags] { run = [flags] { return do_up(*flags); }; });
}

void add_down(CLI::App& app, Chosen& run) {
  auto cluster = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("down", "Stop a cluster");
  command->add_option("cluster", *cluster, "its name (default: the only one)");
  command->add_flag("--json", *json, "one JSON object on stdout (default off)");
  command->callback([&run, cluster, json] { run = [=] { return do_down(*cluster, *json); }; });
}

void add_plan(CLI::App& app, Chosen& run) {
  auto flags = std::make_shared<UpFlags>();
  CLI::App* command = app.add_subcommand("plan", "Show what would run where; starts nothing");
  command->add_option("manifest", flags->manifest, "the manifest, a YAML file")->required();
  add_text(*command, "--host", flags->host,
           "plan for this host of the manifest (default: the first one)");
  command->add_flag("--json", flags->json, "one JSON object on stdout (default off)");
  command->callback([&run, flags] { run = [flags] { return do_plan(*flags); }; });
}

}  // namespace troupe::cli
