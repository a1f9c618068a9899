// Which store takes a process's blocks.
#pragma once

#include "schemas/cluster.pb.h"

namespace troupe::actors {

/// The store of this host, else of another, the first by name; one that drains, and `own` itself,
/// are none. Null: there is none. It lies in `members`.
const v1::NodeInfo* store_for(const v1::Members& members, const v1::NodeInfo& own);

}  // namespace troupe::actors
