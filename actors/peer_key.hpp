// How the logic classes name an actor on the other side.
#pragma once

#include <cstdint>

namespace troupe::actors {

/// Names an actor on the other side (a client, a reader of blocks, a store); given by the shell,
/// never used again.
using PeerKey = uint64_t;

}  // namespace troupe::actors
