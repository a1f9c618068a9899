// The front actor: prepares requests and sends the prepared ones back in parts.
#pragma once

#include <memory>

#include "actors/interfaces.hpp"
#include "actors/metrics.hpp"
#include "actors/peer_parts.hpp"
#include "actors/prepare.hpp"
#include "actors/runtime.hpp"

namespace troupe::actors {

struct FrontState {
  std::shared_ptr<Preparer> preparer;
  std::shared_ptr<Metrics> metrics;
  /// Makes hashes of prompts useless to who guesses prompts.
  uint64_t hash_salt = random_u64();
  PeerParts parts;
};

FrontActor::behavior_type front(FrontActor::stateful_pointer<FrontState> self,
                                std::shared_ptr<Preparer> preparer,
                                std::shared_ptr<Metrics> metrics);

}  // namespace troupe::actors
