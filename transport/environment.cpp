#include "transport/environment.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "base/concat.hpp"
#include "transport/limits.hpp"

namespace troupe::transport {

Environment required_environment() {
  return {{"UCX_MEM_EVENTS", "n"},
          {"UCX_HANDLE_ERRORS", "none"},
          {"UCX_WARN_UNUSED_ENV_VARS", "n"},
          {"UCX_LOG_FILE", "stderr"}};
}

std::vector<std::string> missing_environment() {
  std::vector<std::string> missing;
  for (const auto& [name, value] : required_environment()) {
    const char* present = std::getenv(name.c_str());
    if (present == nullptr || value != present) missing.push_back(name);
  }
  return missing;
}

AllowedPaths parse_ucx_tls(std::string_view value) {
  const bool excluded = value.starts_with('^');
  if (excluded) value.remove_prefix(1);
  std::set<std::string_view> names;
  while (!value.empty()) {
    const size_t comma = value.find(',');
    std::string_view item = value.substr(0, comma);
    if (item.starts_with('\\')) item.remove_prefix(1);
    if (!item.empty()) names.insert(item);
    value = comma == std::string_view::npos ? std::string_view{} : value.substr(comma + 1);
  }
  const bool posix_named = names.contains("posix") || names.contains("sm") ||
                           names.contains("shm") || names.contains("mm");
  if (excluded) return {!posix_named, !names.contains("tcp")};
  if (names.empty() || names.contains("all")) return {};
  return {posix_named, names.contains("tcp")};
}

Environment shared_memory_environment() {
  // Without UCX_POSIX_ERROR_HANDLING the peer-error mode drops shared memory for TCP, silently.
  return {{"UCX_TLS", "posix,self"},
          {"UCX_POSIX_ERROR_HANDLING", "y"},
          {"UCX_KEEPALIVE_INTERVAL", "1s"}};
}

Environment tcp_environment(std::string_view device) {
  // UCX's own keepalive keeps the kernel's from noticing a cut link, so it is as good as off.
  return {{"UCX_TLS", "tcp,self"},
          {"UCX_NET_DEVICES", std::string(device)},
          {"UCX_TCP_PUT_ENABLE", "n"},
          {"UCX_KEEPALIVE_INTERVAL", "1000s"},
          {"UCX_TCP_KEEPIDLE", "1s"},
          {"UCX_TCP_KEEPINTVL", "1s"},
          {"UCX_TCP_KEEPCNT", "3"},
          {"UCX_TCP_TX_SEG_SIZE", std::to_string(limits::tcp_segment_bytes)},
          {"UCX_TCP_RX_SEG_SIZE", std::to_string(limits::tcp_segment_bytes)}};
}

namespace {

struct DeviceAddress {
  std::string device;
  std::string address;
  bool is_v4 = true;
};

/// All addresses of this host, each device's in the kernel's order.
Result<std::vector<DeviceAddress>> device_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    return error(Code::internal, "the list of network devices could not be read");
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  std::vector<DeviceAddress> found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    char text[INET6_ADDRSTRLEN] = "";
    const int family = entry->ifa_addr->sa_family;
    if (family == AF_INET) {
      sockaddr_in v4{};
      std::memcpy(&v4, entry->ifa_addr, sizeof v4);
      inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    } else if (family == AF_INET6) {
      sockaddr_in6 v6{};
      std::memcpy(&v6, entry->ifa_addr, sizeof v6);
      inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    } else {
      continue;
    }
    found.push_back({entry->ifa_name, text, family == AF_INET});
  }
  return found;
}

/// A host name as its first IPv4 address; everything else as it is.
std::string resolved(const std::string& address) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), nullptr, &hints, &found) != 0) return address;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  sockaddr_in v4{};
  std::memcpy(&v4, found->ai_addr, sizeof v4);
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
  return text;
}

}  // namespace

Result<std::string> device_of_address(const std::string& address) {
  TROUPE_ASSIGN(const std::vector<DeviceAddress> all, device_addresses());
  const std::string wanted = resolved(address);
  std::map<std::string, std::string> first;  // of each device, IPv4
  std::string usable;
  for (const DeviceAddress& entry : all) {
    if (!entry.is_v4 || !first.try_emplace(entry.device, entry.address).second) continue;
    usable += concat(usable.empty() ? "" : ", ", entry.address);
  }
  for (const DeviceAddress& entry : all) {
    if (entry.address != wanted) continue;
    if (entry.is_v4 && first[entry.device] == wanted) return entry.device;
    return error(Code::unsupported,
                 concat("blocks cannot travel at ", address,
                        ": UCX listens on the first IPv4 "
                        "address of a device, and ",
                        address, " is another one of ", entry.device),
                 concat("data_address: one of ", usable));
  }
  return error(Code::not_found, concat("no network device of this host has the address ", address),
               concat("this host has ", usable));
}

ScopedEnvironment::ScopedEnvironment(const Environment& variables) {
  for (const auto& [name, value] : variables) {
    const char* present = std::getenv(name.c_str());
    former_.push_back({name, present != nullptr, present != nullptr ? present : ""});
    setenv(name.c_str(), value.c_str(), 1);
  }
}

ScopedEnvironment::~ScopedEnvironment() {
  for (const Former& former : former_) {
    if (former.was_set) {
      setenv(former.name.c_str(), former.value.c_str(), 1);
    } else {
      unsetenv(former.name.c_str());
    }
  }
}

}  // namespace troupe::transport
