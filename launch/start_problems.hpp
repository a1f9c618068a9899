// What a plan does not say by itself: whether this machine could start its part of it.
#pragma once

#include <string>
#include <vector>

#include "launch/manifest.hpp"
#include "launch/plan.hpp"

namespace troupe::launch {

/// What up() would refuse here, one sentence each: memory and certificates. Ports are free or taken
/// only at the moment of a start, and the models are for whoever can read them. May add notes to
/// the plan.
std::vector<std::string> start_problems(const Manifest& manifest, LaunchPlan& plan);

/// The nodes of this host whose certificates are needed: its processes, and the command line.
std::vector<std::string> certified_nodes(const LaunchPlan& plan);

/// Checks the certificates that the manifest names, if it names any.
Status check_certificates(const Manifest& manifest, const LaunchPlan& plan);

}  // namespace troupe::launch
