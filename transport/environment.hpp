// UCX is configured through the environment only. Some variables are read when the library is
// loaded (required_environment: set them before exec), the rest while a context is made.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace troupe::transport {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// Variables that must be in the environment before exec of any process that uses Transport: no
/// memory hooks (they break TSan and gain nothing without RDMA), no signal handlers, no noise, and
/// nothing on stdout, which may carry JSON.
Environment required_environment();

/// Names of required_environment() that are not set to what is required.
std::vector<std::string> missing_environment();

/// What the user's UCX_TLS permits.
struct AllowedPaths {
  bool shared_memory = true;
  bool tcp = true;
};

/// Reads a value of UCX_TLS: a list of transports, or "^" and a list of excluded ones; empty or
/// "all" permits everything.
AllowedPaths parse_ucx_tls(std::string_view value);

/// Variables for the context that reads shared memory.
Environment shared_memory_environment();

/// Variables for the context that moves blocks over TCP on network device `device` (e.g. "lo").
Environment tcp_environment(std::string_view device);

/// The network device whose first IPv4 address is `address` (a number or a name). Errors: not_found
/// with the addresses that this host has; unsupported for another address of a device or an IPv6
/// one, as UCX listens on a device's first IPv4 address whatever was meant.
Result<std::string> device_of_address(const std::string& address);

/// Sets variables and puts the former values back when it goes. Not thread-safe by nature
/// (setenv): make one only while no other thread reads the environment.
class ScopedEnvironment {
 public:
  explicit ScopedEnvironment(const Environment& variables);
  ~ScopedEnvironment();
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  struct Former {
    std::string name;
    bool was_set = false;
    std::string value;
  };
  std::vector<Former> former_;
};

}  // namespace troupe::transport
