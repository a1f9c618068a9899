#include "launch/plan.hpp"

#include <algorithm>
#include <thread>

#include "base/concat.hpp"
#include "launch/amounts.hpp"
#include "launch/manifest_rules.hpp"
#include "launch/nearest.hpp"

namespace troupe::launch {
namespace {

constexpr v1::Manifest::Role not_built[] = {v1::Manifest::ROLE_MONITOR};

bool computes(const PlannedProcess& process) {
  return process.plays("prefill") || process.plays("decode");
}

std::vector<std::string> built_roles() {
  std::vector<std::string> names = yaml_names(*v1::Manifest::Role_descriptor());
  for (const v1::Manifest::Role role : not_built) std::erase(names, role_name(role));
  return names;
}

Status check_supported(const Manifest& manifest) {
  for (int i = 0; i < manifest.spec.roles_size(); ++i) {
    const v1::Manifest::Process& process = manifest.spec.roles(i);
    for (int k = 0; k < process.run_size(); ++k) {
      if (std::ranges::find(not_built, process.run(k)) == std::end(not_built)) continue;
      return error(
          Code::unsupported,
          concat(manifest.where(concat("roles[", i, "].run[", k, "]")), "role \"",
                 role_name(static_cast<v1::Manifest::Role>(process.run(k))), "\" of process \"",
                 process.name(), "\" is not built yet, expected ", list_of(built_roles())));
    }
    if (process.device() == v1::Manifest::DEVICE_GPU) {
      return error(
          Code::unsupported,
          concat(manifest.where(concat("roles[", i, "].device")), "process \"", process.name(),
                 "\" wants a GPU, and this build has no GPU backend, expected cpu"));
    }
  }
  return {};
}

// A disk needs a size and a folder, and no two stores of a host have the same.
Status check_stores(const Manifest& manifest, const LaunchPlan& plan) {
  for (int i = 0; i < manifest.spec.roles_size(); ++i) {
    const v1::Manifest::Process& process = manifest.spec.roles(i);
    const bool has_size = process.store_disk_bytes() > 0;
    if (has_size == !process.store_path().empty()) continue;
    const std::string field = concat("roles[", i, has_size ? "].store_disk" : "].store_path");
    return error(
        Code::invalid_argument,
        concat(manifest.where(field), "process \"", process.name(), "\" has ",
               has_size ? "store_disk without store_path, expected the folder that it is in"
                        : "store_path without store_disk, expected what it may take there"));
  }
  for (const PlannedProcess& one : plan.processes) {
    for (const PlannedProcess& other : plan.processes) {
      if (&one == &other) break;
      if (one.store_path.empty() || one.store_path != other.store_path || one.host != other.host) {
        continue;
      }
      return error(Code::invalid_argument,
                   concat(manifest.where(one.field + ".store_path"), "processes \"", other.name,
                          "\" and \"", one.name, "\" have the same store_path ", one.store_path,
                          ", expected a folder for each"));
    }
  }
  return {};
}

Status check_cast(const Manifest& manifest, const LaunchPlan& plan) {
  for (const char* role : {"directory", "router", "front", "decode"}) {
    std::vector<const PlannedProcess*> players;
    for (const PlannedProcess& process : plan.processes) {
      if (process.plays(role)) players.push_back(&process);
    }
    const bool is_only = std::string(role) == "directory";
    if (players.size() == 1 || (players.size() > 1 && !is_only)) continue;
    const std::string field = players.empty() ? std::string("roles") : players[1]->field;
    const std::string found =
        players.empty() ? std::string("no process runs") : concat(players.size(), " processes run");
    return error(Code::invalid_argument,
                 concat(manifest.where(field), found, " \"", role, "\", expected ",
                        is_only ? "exactly" : "at least", " one"));
  }
  for (const PlannedProcess& process : plan.processes) {
    if (!process.plays("decode")) continue;
    const bool has_front = std::ranges::any_of(plan.processes, [&](const PlannedProcess& other) {
      return other.plays("front") && other.model == process.model;
    });
    if (!has_front) {
      return error(
          Code::invalid_argument,
          concat(manifest.where(process.field), "process \"", process.name, "\" decodes model \"",
                 process.model, "\", expected a process that runs \"front\" for that model too"));
    }
  }
  return {};
}

// What a cluster needs once its processes are not all on one host.
Status check_hosts(const Manifest& manifest, const LaunchPlan& plan) {
  const PlannedProcess& directory = plan.processes.front();
  const bool is_spread = std::ranges::any_of(plan.processes, [&](const PlannedProcess& process) {
    return process.host != directory.host;
  });
  if (!is_spread) return {};
  if (directory.port == 0) {
    return error(Code::invalid_argument,
                 concat(manifest.where(directory.field), "process \"", directory.name,
                        "\" runs the directory, which other hosts must find, expected a port of "
                        "its own, such as port: 7000"));
  }
  if (manifest.spec.security().certificates_path().empty()) {
    return error(Code::invalid_argument,
                 concat(manifest.where("security"),
                        "several hosts share one authority, expected security.certificates_path, "
                        "a folder with its certificates"),
                 "troupe certs init and troupe certs issue make them");
  }
  return {};
}

Result<std::string> choose_host(const Manifest& manifest, const std::string& wanted) {
  std::vector<std::string> names;
  for (const auto& host : manifest.spec.hosts()) names.push_back(host.name());
  if (!wanted.empty()) {
    if (std::ranges::find(names, wanted) != names.end()) return wanted;
    return error(Code::not_found,
                 concat(manifest.where("hosts"), "there is no host \"", wanted, "\", expected ",
                        list_of(names), did_you_mean(wanted, names)));
  }
  if (names.size() == 1) return names.front();
  return error(Code::invalid_argument,
               concat(manifest.where("hosts"),
                      "several hosts, and none was chosen, expected --host with ", list_of(names)));
}

void add_processes(const Manifest& manifest, LaunchPlan& plan) {
  for (int index = 0; index < manifest.spec.roles_size(); ++index) {
    const v1::Manifest::Process& spec = manifest.spec.roles(index);
    PlannedProcess process;
    process.field = concat("roles[", index, "]");
    process.host = spec.host();
    process.is_here = spec.host() == plan.host;
    process.model = spec.model();
    process.threads = spec.threads();
    process.port = static_cast<uint16_t>(spec.port());
    for (const int role : spec.run()) {
      process.roles.push_back(role_name(static_cast<v1::Manifest::Role>(role)));
    }
    if (computes(process)) process.kv_bytes = spec.kv_memory_bytes();
    if (process.plays("draft")) process.draft_bytes = spec.draft_memory_bytes();
    if (process.plays("gateway")) process.listen = spec.listen();
    if (process.plays("kv_store")) {
      process.store_bytes = spec.store_memory_bytes();
      process.store_disk_bytes = spec.store_disk_bytes();
    }
    for (const auto& host : manifest.spec.hosts()) {
      if (host.name() != spec.host()) continue;
      process.address = host.address();
      process.data_address = host.data_address();
    }
    for (const auto& model : manifest.spec.models()) {
      if (model.name() == spec.model()) process.model_path = model.path();
    }
    for (uint32_t i = 1; i <= spec.count(); ++i) {
      process.name = spec.count() == 1 ? spec.name() : concat(spec.name(), "-", i);
      if (process.store_disk_bytes > 0) {
        // Each has a folder of its own.
        process.store_path = spec.store_path() + (spec.count() == 1 ? "" : concat("-", i));
      }
      plan.processes.push_back(process);
    }
  }
  std::ranges::stable_sort(plan.processes, {}, [](const PlannedProcess& process) {
    return process.plays("directory") ? 0 : 1;
  });
}

// Processes that compute and do not say with how many threads share the cores.
void share_threads(LaunchPlan& plan) {
  const uint32_t cores = std::max(1u, std::thread::hardware_concurrency());
  uint32_t taken = 0;
  uint32_t sharers = 0;
  for (const PlannedProcess& process : plan.processes) {
    if (!process.is_here || !computes(process)) continue;
    taken += process.threads;
    sharers += process.threads == 0 ? 1 : 0;
  }
  const uint32_t left = cores > taken ? cores - taken : 0;
  for (PlannedProcess& process : plan.processes) {
    if (process.threads != 0) continue;
    process.threads = computes(process) && sharers > 0 ? std::max(1u, left / sharers) : 1;
  }
  if (taken + sharers > cores) {
    plan.notes.push_back(concat(taken + sharers, " compute threads share ", cores,
                                cores == 1 ? " core." : " cores."));
  }
}

void note_ignored(const Manifest& manifest, LaunchPlan& plan) {
  for (const auto& [path, position] : manifest.positions) {
    const google::protobuf::Descriptor* type = v1::Manifest::descriptor();
    const FieldDescriptor* field = nullptr;
    size_t start = 0;
    while (start < path.size() && type != nullptr) {
      const size_t end = std::min(path.find('.', start), path.size());
      const std::string step = path.substr(start, end - start);
      field = field_by_yaml_name(*type, step.substr(0, step.find('[')));
      type = field == nullptr ? nullptr : field->message_type();
      start = end + 1;
    }
    if (field == nullptr || !rule_of(*field).is_planned() || path.ends_with(']')) continue;
    plan.notes.push_back(path + " has no effect yet.");
  }
}

void set_environment(const Manifest& manifest, LaunchPlan& plan) {
  // UCX installs signal handlers and memory hooks while its library is loaded: too early for the
  // process itself to say no.
  plan.environment = {{"UCX_MEM_EVENTS", "n"},
                      {"UCX_HANDLE_ERRORS", "none"},
                      {"UCX_WARN_UNUSED_ENV_VARS", "n"},
                      {"UCX_LOG_FILE", "stderr"}};
  if (!manifest.spec.transport().shared_memory()) {
    plan.environment.emplace_back("UCX_TLS", "tcp,self");
  } else if (!manifest.spec.transport().tcp()) {
    plan.environment.emplace_back("UCX_TLS", "posix,self");
  }
}

}  // namespace

bool PlannedProcess::plays(const std::string& role) const {
  return std::ranges::find(roles, role) != roles.end();
}

const PlannedProcess* LaunchPlan::find(const std::string& name) const {
  const auto found = std::ranges::find(processes, name, &PlannedProcess::name);
  return found == processes.end() ? nullptr : &*found;
}

Result<LaunchPlan> make_plan(const Manifest& manifest, const std::string& host) {
  LaunchPlan plan;
  plan.cluster = manifest.spec.name();
  TROUPE_TRY(check_supported(manifest));
  TROUPE_ASSIGN(plan.host, choose_host(manifest, host));
  add_processes(manifest, plan);
  TROUPE_TRY(check_cast(manifest, plan));
  TROUPE_TRY(check_stores(manifest, plan));
  TROUPE_TRY(check_hosts(manifest, plan));
  share_threads(plan);
  note_ignored(manifest, plan);
  set_environment(manifest, plan);
  return plan;
}

}  // namespace troupe::launch
