#include "launch/run_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/concat.hpp"
#include "base/settings.hpp"
#include "launch/limits.hpp"
#include "launch/manifest_value.hpp"
#include "launch/nearest.hpp"
#include "launch/salt_secret.hpp"

namespace troupe::launch {
namespace {

namespace fs = std::filesystem;

fs::path wanted_root() {
  if (const auto chosen = setting("TROUPE_RUN_DIR")) return *chosen;
  std::error_code ignored;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime == '/' && fs::is_directory(runtime, ignored)) {
    return fs::path(runtime) / "troupe";
  }
  return concat("/tmp/troupe-", ::geteuid());
}

Result<fs::path> cluster_folder(const std::string& cluster) {
  if (!is_name(cluster)) {
    return error(Code::invalid_argument, in_quotes(cluster) + " is not a cluster's name",
                 "a name of a-z, 0-9, - and _");
  }
  TROUPE_ASSIGN(const fs::path root, run_root());
  return root / cluster;
}

}  // namespace

Result<fs::path> run_root() {
  std::error_code failed;
  const fs::path root = fs::absolute(wanted_root(), failed).lexically_normal();
  if (failed) return error(Code::unavailable, "the working directory is gone");
  // Folders above a chosen root are the user's; only the root itself has to be private.
  fs::create_directories(root.parent_path(), failed);
  TROUPE_TRY(make_private_folder(root, true));
  return root;
}

Result<RunDirectory> RunDirectory::make(const std::string& cluster) {
  TROUPE_ASSIGN(const fs::path path, cluster_folder(cluster));
  TROUPE_TRY(make_private_folder(path));
  return RunDirectory(path);
}

Result<RunDirectory> RunDirectory::find(const std::string& cluster) {
  TROUPE_ASSIGN(const fs::path path, cluster_folder(cluster));
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    auto known = known_clusters();
    return error(Code::not_found, "there is no cluster " + in_quotes(cluster) +
                                      (known.ok() ? did_you_mean(cluster, *known) : ""));
  }
  return at(path);
}

Result<RunDirectory> RunDirectory::at(const fs::path& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return system_error("no run directory " + path.string());
  TROUPE_TRY(make_private_folder(path));
  return RunDirectory(path);
}

fs::path RunDirectory::log_file(const std::string& process) const {
  return path_ / "logs" / (process + ".log");
}

Result<Descriptor> RunDirectory::lock() const {
  const fs::path file = path_ / "lock";
  Descriptor fd(::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return system_error("cannot open " + file.string());
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno != EWOULDBLOCK) return system_error("cannot lock " + file.string());
  const std::string cluster = path_.filename().string();
  const auto state = read_state();
  const std::string who =
      state.ok() ? concat(" (supervisor pid ", state->supervisor.pid, ")") : std::string();
  return error(Code::failed_precondition, "cluster \"" + cluster + "\" is already running" + who,
               "troupe down " + cluster);
}

Result<ClusterState> RunDirectory::read_state() const {
  TROUPE_ASSIGN(const std::string text, read_file(state_file(), limits::state_bytes));
  return parse_cluster_state(text);
}

Status RunDirectory::write_state(const ClusterState& state) const {
  return write_file(state_file(), to_json(state) + "\n");
}

Status RunDirectory::prepare() const {
  clear();
  TROUPE_TRY(make_private_folder(certificates()));
  TROUPE_TRY(make_private_folder(path_ / "logs"));
  std::error_code failed;
  std::vector<fs::path> logs;
  for (const auto& entry : fs::directory_iterator(path_ / "logs", failed)) {
    if (entry.path().extension() == ".log") logs.push_back(entry.path());
  }
  for (const fs::path& log : logs) fs::rename(log, fs::path(log) += ".1", failed);
  return {};
}

void RunDirectory::clear() const {
  std::error_code ignored;
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(path_, ignored)) {
    const fs::path name = entry.path().filename();
    if (name != "logs" && name != "lock" && name != salt_secret_name) old.push_back(entry.path());
  }
  for (const fs::path& path : old) fs::remove_all(path, ignored);
}

Result<std::vector<std::string>> known_clusters() {
  TROUPE_ASSIGN(const fs::path root, run_root());
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(root, failed)) {
    const std::string cluster = entry.path().filename().string();
    if (entry.is_directory(failed) && is_name(cluster)) names.push_back(cluster);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace troupe::launch
