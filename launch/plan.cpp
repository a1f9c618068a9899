#include "launch/plan.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/concat.hpp"
#include "launch/amounts.hpp"
#include "launch/manifest_rules.hpp"
#include "launch/nearest.hpp"

namespace troupe::launch {
namespace {

constexpr v1::Manifest::Role not_built[] = {v1::Manifest::ROLE_GATEWAY, v1::Manifest::ROLE_MONITOR};

bool computes(const PlannedProcess& process) {
  return process.plays("prefill") || process.plays("decode");
}

Status check_supported(const Manifest& manifest) {
  for (int i = 0; i < manifest.spec.roles_size(); ++i) {
    const v1::Manifest::Process& process = manifest.spec.roles(i);
    for (int k = 0; k < process.run_size(); ++k) {
      if (std::ranges::find(not_built, process.run(k)) == std::end(not_built)) continue;
      return error(Code::unsupported,
                   concat(manifest.where(concat("roles[", i, "].run[", k, "]")), "role \"",
                          role_name(static_cast<v1::Manifest::Role>(process.run(k))),
                          "\" of process \"", process.name(), "\" is not built yet"),
                   "directory, router, front, prefill, decode, draft and kv_store are");
    }
    if (process.device() == v1::Manifest::DEVICE_GPU) {
      return error(Code::unsupported,
                   concat(manifest.where(concat("roles[", i, "].device")), "process \"",
                          process.name(), "\" wants a GPU, and this build has no GPU backend"),
                   "device: cpu");
    }
  }
  return {};
}

Status check_cast(const Manifest& manifest, const LaunchPlan& plan) {
  for (const char* role : {"directory", "router", "front", "decode"}) {
    const auto count = std::ranges::count_if(
        plan.processes, [&](const PlannedProcess& process) { return process.plays(role); });
    const bool is_only = std::string(role) == "directory";
    if (count == 1 || (count > 1 && !is_only)) continue;
    const std::string found =
        count == 0 ? std::string("no process runs") : concat(count, " processes run");
    return error(Code::invalid_argument,
                 concat(manifest.where("roles"), found, " \"", role, "\", expected ",
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
          concat(manifest.where("roles"), "process \"", process.name, "\" decodes model \"",
                 process.model, "\", but no process runs \"front\" for that model"));
    }
  }
  return {};
}

Result<std::string> choose_host(const Manifest& manifest, const std::string& wanted) {
  std::vector<std::string> names;
  for (const auto& host : manifest.spec.hosts()) names.push_back(host.name());
  if (!wanted.empty()) {
    if (std::ranges::find(names, wanted) != names.end()) return wanted;
    return error(Code::not_found, concat("the manifest has no host \"", wanted, "\", expected ",
                                         list_of(names), did_you_mean(wanted, names)));
  }
  if (names.size() == 1) return names.front();
  for (const auto& host : manifest.spec.hosts()) {
    if (host.address().starts_with("127.") || host.address() == "localhost") return host.name();
  }
  return error(Code::invalid_argument,
               concat("the manifest has several hosts, and none was chosen: ", list_of(names)),
               "say which one this machine is");
}

void add_processes(const Manifest& manifest, LaunchPlan& plan) {
  for (const v1::Manifest::Process& spec : manifest.spec.roles()) {
    PlannedProcess process;
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
    if (process.plays("kv_store")) process.store_bytes = spec.store_memory_bytes();
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
      plan.processes.push_back(process);
    }
  }
  std::ranges::stable_sort(plan.processes, {}, [](const PlannedProcess& process) {
    return process.plays("directory") ? 0 : 1;
  });
}

/// Names that files of the run directory have already.
bool is_reserved(const std::string& name) {
  return name == "client" || name == "ca" || name == "supervisor";
}

Status check_names(const LaunchPlan& plan) {
  for (const PlannedProcess& process : plan.processes) {
    if (plan.find(process.name) == &process && !is_reserved(process.name)) {
      continue;
    }
    return error(
        Code::invalid_argument, concat("a process cannot be called \"", process.name, "\""),
        is_reserved(process.name) ? "the name is reserved" : "it comes from a count above 1");
  }
  return {};
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

void note_memory(LaunchPlan& plan) {
  uint64_t needed = 0;
  for (const PlannedProcess& process : plan.processes) {
    if (!process.is_here) continue;
    needed += process.store_bytes;
    if (!computes(process)) continue;
    std::error_code unknown;
    const uint64_t weights = std::filesystem::file_size(process.model_path, unknown);
    needed += process.kv_bytes + (unknown ? 0 : weights);
  }
  const auto pages = static_cast<uint64_t>(std::max(0l, ::sysconf(_SC_PHYS_PAGES)));
  const uint64_t present = pages * static_cast<uint64_t>(std::max(0l, ::sysconf(_SC_PAGESIZE)));
  if (present > 0 && needed > present - present / 10) {
    plan.notes.push_back(concat("KV memory and weights need ", needed >> 20,
                                " MiB, and this machine has ", present >> 20, " MiB."));
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
  TROUPE_TRY(check_names(plan));
  TROUPE_TRY(check_cast(manifest, plan));
  share_threads(plan);
  note_memory(plan);
  note_ignored(manifest, plan);
  set_environment(manifest, plan);
  return plan;
}

}  // namespace troupe::launch
