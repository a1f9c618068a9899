// What a process of a cluster learns from its supervisor, and what it tells it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.hpp"
#include "launch/certificates.hpp"
#include "launch/plan.hpp"
#include "schemas/manifest.pb.h"

namespace troupe::launch {

/// The exit status of a process whose start would fail again in the same way: the supervisor of a
/// starting cluster gives up at once.
inline constexpr int refused_exit = 2;

struct NodeStart {
  v1::Manifest spec;  ///< the whole manifest, with absolute model paths
  std::string manifest_digest;
  std::string cluster;
  PlannedProcess process;  ///< this one; `port` is the one to listen on, 0: any
  uint64_t incarnation = 1;
  std::string directory_host;
  uint16_t directory_port = 0;    ///< 0 if this process runs the directory
  CertificateFiles certificates;  ///< verified
  std::string salt_secret;        ///< empty unless it needs_secret()
  std::filesystem::path run_dir;
  bool has_directory_here = false;  ///< the directory runs on this host: its end is everybody's
};

/// For "node --run-dir DIR --name NAME". Errors: no such cluster or process, certificates that do
/// not verify.
Result<NodeStart> node_start(const std::filesystem::path& run_dir, const std::string& name);

/// Whether the supervisor is stopping all processes of this host, not just this one.
bool is_stopping(const NodeStart& start);

/// Tells the supervisor that this process answers on that port. Without a supervisor (no
/// TROUPE_READY_FD) it does nothing.
Status announce_ready(uint16_t port);

}  // namespace troupe::launch
