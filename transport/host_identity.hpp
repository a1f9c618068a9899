// Who may share memory with whom: one boot of one kernel, one PID, IPC and user namespace, one
// user.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace troupe::transport {

struct HostIdentity {
  std::array<char, 36> boot_id{};  ///< text of /proc/sys/kernel/random/boot_id; zeros: unknown
  uint64_t pid_namespace = 0;      ///< inode numbers; 0: unknown
  uint64_t ipc_namespace = 0;
  uint64_t user_namespace = 0;
  uint32_t uid = 0;  ///< effective user id

  bool operator==(const HostIdentity&) const = default;
};

/// This process's identity. What cannot be read stays unknown.
HostIdentity host_identity();

/// Empty if the two may share memory; else why not, for status and logs.
std::string why_not_shared(const HostIdentity& here, const HostIdentity& there);

}  // namespace troupe::transport
