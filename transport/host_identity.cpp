#include "transport/host_identity.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace troupe::transport {
namespace {

uint64_t namespace_inode(const char* path) {
  struct stat info {};
  return stat(path, &info) == 0 ? static_cast<uint64_t>(info.st_ino) : 0;
}

}  // namespace

HostIdentity host_identity() {
  HostIdentity identity;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  file.read(identity.boot_id.data(), static_cast<std::streamsize>(identity.boot_id.size()));
  if (!file) identity.boot_id = {};
  identity.pid_namespace = namespace_inode("/proc/self/ns/pid");
  identity.ipc_namespace = namespace_inode("/proc/self/ns/ipc");
  identity.user_namespace = namespace_inode("/proc/self/ns/user");
  identity.uid = geteuid();
  return identity;
}

std::string why_not_shared(const HostIdentity& here, const HostIdentity& there) {
  if (here.boot_id == decltype(here.boot_id){} || here.pid_namespace == 0 ||
      here.ipc_namespace == 0 || here.user_namespace == 0) {
    return "this process cannot read its host identity from /proc";
  }
  if (here.boot_id != there.boot_id) return "the peer runs on another host";
  if (here.pid_namespace != there.pid_namespace) return "the peer is in another PID namespace";
  if (here.ipc_namespace != there.ipc_namespace) return "the peer is in another IPC namespace";
  if (here.user_namespace != there.user_namespace) return "the peer is in another user namespace";
  if (here.uid != there.uid) return "the peer runs as another user";
  return {};
}

}  // namespace troupe::transport
