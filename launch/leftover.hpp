// What a supervisor that was killed may have left behind.
#pragma once

#include <string>
#include <vector>

#include "launch/cluster_state.hpp"

namespace troupe::launch {

/// Kills those processes of a state file that still run; returns their names. Processes that only
/// have the same number today are left alone.
std::vector<std::string> kill_leftover(const ClusterState& state);

}  // namespace troupe::launch
