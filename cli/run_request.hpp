// Waits for an answer, and for what may come in its way: Ctrl-C, and the end of the cluster.
#pragma once

#include <functional>

#include "cli/options.hpp"

namespace troupe::cli {

/// Runs one request to its end. Errors: cancelled after Ctrl-C (install_signal_handlers() was
/// called), unavailable when the cluster is stopped on this machine meanwhile, whatever the request
/// is refused for.
Result<actors::GenerateResult> run_request(
    Connection& connection, actors::GenerateRequest request,
    std::function<void(const actors::ClientDelta&)> on_delta);

}  // namespace troupe::cli
