// A cluster whose run directory is on this machine: how a client reaches it.
#pragma once

#include <string>

#include "actors/client.hpp"
#include "base/result.hpp"
#include "launch/process_id.hpp"

namespace troupe::library {

struct LocalCluster {
  actors::ClientOptions client;
  launch::ProcessId supervisor;
};

/// Empty name: the only one that runs. Errors: not_found (says how to start one), unavailable (its
/// supervisor died), what else launch::status() says.
Result<LocalCluster> local_cluster(const std::string& name);

}  // namespace troupe::library
