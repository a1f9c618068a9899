// The gateway of one process: HTTP in front, a client of the cluster behind.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/client.hpp"
#include "actors/node.hpp"
#include "base/result.hpp"
#include "gateway/access.hpp"
#include "gateway/server.hpp"
#include "gateway/tenants.hpp"

namespace troupe::gateway {

struct GatewayOptions {
  ServerOptions server;
  AccessRules access;
  std::map<std::string, TenantLimits> tenants;
  /// How the cluster is reached by who watches it, for /metrics; empty: the gateway's own alone.
  std::optional<actors::ClientOptions> cluster;
};

class Gateway {
 public:
  /// Listens at once; what it answers before a front is there is 503. The node must outlive it.
  /// Errors: an address that is not loopback without keys, what the server is refused for.
  static Result<std::unique_ptr<Gateway>> start(GatewayOptions options, actors::Node& node);
  /// Cancels what still runs.
  ~Gateway();

  [[nodiscard]] uint16_t port() const;
  /// New generations are refused; waits until those that run have ended (true) or the time is over.
  /// May be called again.
  bool drain(int64_t timeout_ms);

 private:
  Gateway();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// "127.0.0.1:8080", "[::1]:8080" or "8080" (on 127.0.0.1). Errors: invalid_argument.
Status parse_listen(const std::string& text, ServerOptions& options);
/// The keys of a file. Errors: not_found, failed_precondition (others may read the file), what
/// KeyTable says.
Status read_key_file(const std::string& path, const std::vector<std::string>& tenants,
                     KeyTable& keys);

}  // namespace troupe::gateway
