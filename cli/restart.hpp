// What libraries read while they are loaded must be in the environment before: then this program
// starts itself anew.
#pragma once

#include "transport/environment.hpp"

namespace troupe::cli {

/// Sets the variables and runs this program again with the same arguments. Returns only if that is
/// impossible. Call it before anything else, and only where a variable is not set so.
void restart(const transport::Environment& variables);

}  // namespace troupe::cli
