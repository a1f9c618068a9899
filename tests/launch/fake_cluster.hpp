// A cluster whose processes are shell scripts, in a run directory of its own.
#pragma once

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "base/clock.hpp"
#include "launch/cluster.hpp"
#include "tests/launch/temporary_folder.hpp"

namespace troupe::launch {

/// Waits until `is_true`, at most some seconds.
inline bool eventually(const std::function<bool()>& is_true, int64_t timeout_ms = 8000) {
  const int64_t deadline_us = now_us() + timeout_ms * 1000;
  while (!is_true()) {
    if (now_us() > deadline_us) return false;
    ::poll(nullptr, 0, 5);
  }
  return true;
}

class FakeCluster {
 public:
  /// `script` is the body of each process: $name, $run_dir, the settings of the supervisor.
  explicit FakeCluster(const std::string& script, const std::string& extra_manifest = {},
                       const std::string& head_extra = {}) {
    ::setenv("TROUPE_RUN_DIR", (folder_.path() / "run").c_str(), 1);
    write("m.gguf", "not looked into");
    write("child.sh", "run_dir=$2; name=$4\n" + script + "\n");
    write("manifest.yaml",
          "version: 1\nname: fake\nmodels: [{name: m, path: m.gguf}]\nroles:\n"
          "  - {name: head, run: [directory, router, front]" +
              head_extra +
              "}\n"
              "  - {name: prefill, run: [prefill]}\n"
              "  - {name: decode, run: [decode]}\n" +
              extra_manifest);
  }
  ~FakeCluster() {
    if (const auto left = down("fake"); left.ok()) return;
  }
  FakeCluster(const FakeCluster&) = delete;
  FakeCluster& operator=(const FakeCluster&) = delete;

  [[nodiscard]] UpOptions options() const {
    UpOptions options;
    options.manifest = folder_.path() / "manifest.yaml";
    options.command = {"/bin/sh", (folder_.path() / "child.sh").string()};
    return options;
  }
  [[nodiscard]] std::filesystem::path path() const { return folder_.path(); }
  [[nodiscard]] std::filesystem::path run_dir() const { return folder_.path() / "run" / "fake"; }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name) << text;
  }
  [[nodiscard]] std::string read(const std::filesystem::path& path) const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] ProcessState process(const std::string& name) const {
    const auto state = status("fake");
    const ProcessState* found = state.ok() ? state->find(name) : nullptr;
    return found == nullptr ? ProcessState{} : *found;
  }

  /// How many processes anywhere run this cluster's script, those included that a shell has forked
  /// and that have not yet become another program.
  [[nodiscard]] int running() const { return count(false); }

  /// Only those that the supervisor started: each leads a process group.
  [[nodiscard]] int leaders() const { return count(true); }

 private:
  [[nodiscard]] int count(bool is_leaders_only) const {
    const std::string script = (folder_.path() / "child.sh").string();
    int found = 0;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
      if (read(entry.path() / "cmdline").find(script) == std::string::npos) continue;
      const pid_t pid = std::atoi(entry.path().filename().c_str());
      if (!is_leaders_only || ::getpgid(pid) == pid) ++found;
    }
    return found;
  }

  TemporaryFolder folder_;
};

/// A process that is ready at once, on the port it is told to use or one made from its name.
inline const std::string good_script =
    "port=$TROUPE_NODE_PORT\n"
    "[ $port = 0 ] && case $name in head) port=4001;; prefill) port=4002;; *) port=4003;; esac\n"
    "echo \"$name incarnation $TROUPE_INCARNATION port $port ucx $UCX_HANDLE_ERRORS\"\n"
    "echo \"ready $port\" >&3; exec 3>&-\n"
    "trap 'exit 0' TERM\n"
    "while :; do sleep 0.05; done";

}  // namespace troupe::launch
