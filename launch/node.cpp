#include "launch/node.hpp"

#include <unistd.h>

#include <charconv>

#include "base/concat.hpp"
#include "base/settings.hpp"
#include "launch/limits.hpp"
#include "launch/run_directory.hpp"
#include "launch/salt_secret.hpp"

namespace troupe::launch {
namespace {

template <class T>
Result<T> number_setting(const char* name, T fallback) {
  const auto text = setting(name);
  if (!text) return fallback;
  T value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, code] = std::from_chars(text->data(), end, value);
  if (code == std::errc() && stop == end) return value;
  return error(Code::invalid_argument, concat(name, " is not a number"));
}

}  // namespace

Result<NodeStart> node_start(const std::filesystem::path& run_dir, const std::string& name) {
  TROUPE_ASSIGN(const RunDirectory folder, RunDirectory::at(run_dir));
  TROUPE_ASSIGN(const ClusterState state, folder.read_state());
  TROUPE_ASSIGN(const std::string bytes, read_file(folder.manifest_file(), limits::state_bytes));
  Manifest manifest;
  if (!manifest.spec.ParseFromString(bytes)) {
    return error(Code::corrupt, folder.manifest_file().string() + " is damaged");
  }
  manifest.file_name = state.manifest_file;
  TROUPE_ASSIGN(const LaunchPlan plan, make_plan(manifest, state.host));
  const PlannedProcess* process = plan.find(name);
  if (process == nullptr) {
    return error(Code::not_found,
                 concat("cluster \"", state.name, "\" has no process \"", name, "\""));
  }
  NodeStart start;
  start.spec = std::move(manifest.spec);
  start.manifest_digest = state.manifest_digest;
  start.cluster = state.name;
  start.process = *process;
  TROUPE_ASSIGN(start.process.port, number_setting<uint16_t>("TROUPE_NODE_PORT", process->port));
  TROUPE_ASSIGN(start.incarnation, number_setting<uint64_t>("TROUPE_INCARNATION", 1));
  start.directory_host = state.directory_host;
  start.directory_port = process->plays("directory") ? uint16_t{0} : state.directory_port;
  start.certificates = certificate_files(state.certificates, name);
  TROUPE_TRY(verify_certificate(state.certificates, name));
  if (process->needs_secret()) {
    TROUPE_ASSIGN(start.salt_secret, salt_secret_of(start.spec.security(), state.certificates));
  }
  start.run_dir = folder.path();
  for (const PlannedProcess& other : plan.processes) {
    if (other.is_here && other.plays("directory")) start.has_directory_here = true;
  }
  return start;
}

bool is_stopping(const NodeStart& start) {
  const auto folder = RunDirectory::at(start.run_dir);
  if (!folder) return false;
  const auto state = folder->read_state();
  return state && state->phase == Phase::stopping;
}

Status announce_ready(uint16_t port) {
  TROUPE_ASSIGN(const int fd, number_setting<int>("TROUPE_READY_FD", -1));
  if (fd < 0) return {};
  const Descriptor pipe(fd);
  ::unsetenv("TROUPE_READY_FD");
  const std::string line = concat("ready ", port, "\n");
  if (::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size())) return {};
  return system_error("cannot tell the supervisor that the process is ready");
}

}  // namespace troupe::launch
