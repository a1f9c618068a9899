// The front actor: prepares requests and sends the prepared ones back in parts.
#pragma once

#include <memory>

#include "actors/interfaces.hpp"
#include "actors/peer_parts.hpp"
#include "actors/prepare.hpp"

namespace troupe::actors {

struct FrontState {
  std::shared_ptr<Preparer> preparer;
  PeerParts parts;
};

FrontActor::behavior_type front(FrontActor::stateful_pointer<FrontState> self,
                                std::shared_ptr<Preparer> preparer);

}  // namespace troupe::actors
