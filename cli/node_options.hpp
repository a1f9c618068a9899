// From what the manifest says of a process to what actors/ needs to run it.
#pragma once

#include "actors/node.hpp"
#include "base/result.hpp"
#include "launch/node.hpp"

namespace troupe::cli {

Result<actors::NodeOptions> node_options(const launch::NodeStart& start);

}  // namespace troupe::cli
