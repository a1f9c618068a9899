#include "launch/cluster_state.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "launch/limits.hpp"
#include "launch/text_table.hpp"

namespace troupe::launch {
namespace {

using Json = nlohmann::ordered_json;

constexpr Health healths[] = {Health::waiting,    Health::starting, Health::ready,
                              Health::restarting, Health::stopping, Health::stopped};
constexpr Phase phases[] = {Phase::starting, Phase::ready, Phase::stopping};

Json json_of(const ProcessState& process) {
  return {{"name", process.name},
          {"roles", process.roles},
          {"pid", process.id.pid},
          {"start_time", process.id.start_time},
          {"incarnation", process.incarnation},
          {"address", process.address},
          {"port", process.port},
          {"health", name(process.health)},
          {"last_exit", process.last_exit},
          {"log_file", process.log_file}};
}

Json json_of(const HostState& host) {
  return {{"name", host.name}, {"address", host.address}, {"processes", host.processes}};
}

// Reads fields with their types checked, so that a damaged file is an error and no exception.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  void text(const char* key, std::string& out) {
    if (const Json* value = find(key); value != nullptr && value->is_string()) {
      out = value->get<std::string>();
    } else {
      fail(key);
    }
  }
  template <class T>
  void number(const char* key, T& out) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_number_unsigned() ||
        value->get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<T>::max())) {
      return fail(key);
    }
    out = static_cast<T>(value->get<uint64_t>());
  }
  template <class T, size_t n>
  void word(const char* key, const T (&values)[n], T& out) {
    std::string text_value;
    text(key, text_value);
    for (const T value : values) {
      if (text_value == name(value)) {
        out = value;
        return;
      }
    }
    fail(key);
  }
  void texts(const char* key, std::vector<std::string>& out) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_array()) return fail(key);
    for (const Json& entry : *value) {
      if (!entry.is_string()) return fail(key);
      out.push_back(entry.get<std::string>());
    }
  }
  const Json* list(const char* key) {
    const Json* value = find(key);
    if (value != nullptr && value->is_array()) return value;
    fail(key);
    return nullptr;
  }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  const Json* find(const char* key) const {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  void fail(const char* key) {
    if (wrong_.empty()) wrong_ = key;
  }

  const Json& object_;
  std::string wrong_;
};

std::string read_process(const Json& object, ProcessState& process) {
  Fields fields(object);
  fields.text("name", process.name);
  fields.texts("roles", process.roles);
  fields.number("pid", process.id.pid);
  fields.number("start_time", process.id.start_time);
  fields.number("incarnation", process.incarnation);
  fields.text("address", process.address);
  fields.number("port", process.port);
  fields.word("health", healths, process.health);
  fields.text("last_exit", process.last_exit);
  fields.text("log_file", process.log_file);
  return fields.wrong();
}

std::string read_host(const Json& object, HostState& host) {
  Fields fields(object);
  fields.text("name", host.name);
  fields.text("address", host.address);
  fields.texts("processes", host.processes);
  return fields.wrong();
}

}  // namespace

const char* name(Health health) {
  switch (health) {
    case Health::waiting:
      return "waiting";
    case Health::starting:
      return "starting";
    case Health::ready:
      return "ready";
    case Health::restarting:
      return "restarting";
    case Health::stopping:
      return "stopping";
    case Health::stopped:
      return "stopped";
    case Health::dead:
      return "dead";
    case Health::unknown:
      return "unknown";
  }
  return "unknown";
}

const char* name(Phase phase) {
  switch (phase) {
    case Phase::starting:
      return "starting";
    case Phase::ready:
      return "ready";
    case Phase::stopping:
      return "stopping";
  }
  return "unknown";
}

const ProcessState* ClusterState::find(const std::string& process) const {
  const auto found = std::ranges::find(processes, process, &ProcessState::name);
  return found == processes.end() ? nullptr : &*found;
}

void look_at_processes(ClusterState& state) {
  state.is_stale = !is_alive(state.supervisor);
  for (ProcessState& process : state.processes) {
    if (process.id.pid != 0 && !is_alive(process.id)) {
      process.health = Health::dead;
    } else if (state.is_stale) {
      process.health = process.id.pid == 0 ? Health::dead : Health::unknown;
    }
  }
}

std::string to_json(const ClusterState& state) {
  Json out = {{"cluster", state.name},
              {"phase", state.is_stale ? "stale" : name(state.phase)},
              {"run_dir", state.run_dir},
              {"supervisor_pid", state.supervisor.pid},
              {"supervisor_start_time", state.supervisor.start_time},
              {"started_unix_s", state.started_unix_s},
              {"manifest_file", state.manifest_file},
              {"manifest_digest", state.manifest_digest},
              {"host", state.host},
              {"directory_host", state.directory_host},
              {"directory_port", state.directory_port},
              {"certificates", state.certificates},
              {"stop_timeout_ms", state.stop_timeout_ms},
              {"hosts", Json::array()},
              {"processes", Json::array()}};
  for (const HostState& host : state.hosts) out["hosts"].push_back(json_of(host));
  for (const ProcessState& process : state.processes) out["processes"].push_back(json_of(process));
  return out.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string to_table(const ClusterState& state) {
  std::string out =
      concat("cluster ", state.name, ": ",
             state.is_stale ? "its supervisor is gone (troupe down tidies up)" : name(state.phase),
             ", supervisor pid ", state.supervisor.pid, ", directory ", state.directory_host, ":",
             state.directory_port, "\n\n");
  std::vector<std::vector<std::string>> rows = {
      {"PROCESS", "ROLES", "PID", "INCARNATION", "PORT", "HEALTH"}};
  for (const ProcessState& process : state.processes) {
    rows.push_back(
        {process.name, joined(process.roles), std::to_string(process.id.pid),
         std::to_string(process.incarnation), std::to_string(process.port),
         concat(name(process.health),
                process.last_exit.empty() ? "" : " (before: " + process.last_exit + ")")});
  }
  return out + text_table(rows);
}

Result<ClusterState> parse_cluster_state(const std::string& json) {
  const Json root = Json::parse(json, nullptr, false);
  ClusterState state;
  Fields fields(root);
  fields.text("cluster", state.name);
  fields.word("phase", phases, state.phase);
  fields.text("run_dir", state.run_dir);
  fields.number("supervisor_pid", state.supervisor.pid);
  fields.number("supervisor_start_time", state.supervisor.start_time);
  fields.number("started_unix_s", state.started_unix_s);
  fields.text("manifest_file", state.manifest_file);
  fields.text("manifest_digest", state.manifest_digest);
  fields.text("host", state.host);
  fields.text("directory_host", state.directory_host);
  fields.number("directory_port", state.directory_port);
  fields.text("certificates", state.certificates);
  fields.number("stop_timeout_ms", state.stop_timeout_ms);
  std::string wrong = fields.wrong();
  if (const Json* list = fields.list("hosts"); list != nullptr && wrong.empty()) {
    for (const Json& entry : *list) {
      if (state.hosts.size() >= limits::manifest_list) wrong = "hosts";
      if (!wrong.empty()) break;
      wrong = read_host(entry, state.hosts.emplace_back());
    }
  } else if (wrong.empty()) {
    wrong = "hosts";
  }
  if (const Json* list = fields.list("processes"); list != nullptr && wrong.empty()) {
    for (const Json& entry : *list) {
      if (state.processes.size() >= limits::processes) wrong = "processes";
      if (!wrong.empty()) break;
      wrong = read_process(entry, state.processes.emplace_back());
    }
  } else if (wrong.empty()) {
    wrong = "processes";
  }
  if (wrong.empty()) return state;
  return error(Code::corrupt, "the cluster's state file is damaged at \"" + wrong + "\"");
}

}  // namespace troupe::launch
