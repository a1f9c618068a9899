// How HTTP is served: from flags of serve, or from a manifest.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "gateway/gateway.hpp"
#include "launch/node.hpp"

namespace troupe::cli {

struct GatewayFlags {
  std::string listen;  ///< empty: no HTTP
  std::string key;
  std::string key_file;
  std::string certificate_file, key_of_certificate;
  std::vector<std::string> hosts, origins;
};
void add_gateway_flags(CLI::App& command, GatewayFlags& flags);

/// Empty without --listen. Errors: flags that mean nothing without it, an address that is none,
/// keys that are none, an address that is not loopback without keys.
Result<std::optional<gateway::GatewayOptions>> gateway_options(const GatewayFlags& flags);

/// Empty when the process is no gateway.
Result<std::optional<gateway::GatewayOptions>> gateway_options(const launch::NodeStart& start);

/// How this process itself watches the cluster whose directory is there.
actors::ClientOptions watcher_of(const actors::NodeOptions& node, const std::string& host,
                                 uint16_t port);

}  // namespace troupe::cli
