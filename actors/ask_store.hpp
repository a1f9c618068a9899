// Offers blocks to a store, as a worker does and a store that leaves.
#pragma once

#include <chrono>
#include <utility>

#include "actors/interfaces.hpp"
#include "actors/limits.hpp"
#include "base/result.hpp"

namespace troupe::actors {

/// `answered` gets the store's reply or why there is none, in the actor's own turn.
template <class Self, class Answered>
void ask_store(Self* self, const caf::strong_actor_ptr& store, const v1::Offer& offer,
               Answered answered) {
  self->request(caf::actor_cast<KvStoreActor>(store),
                std::chrono::milliseconds(limits::request_timeout_ms), offer)
      .then([answered](const v1::OfferReply& reply) { answered(Result<v1::OfferReply>(reply)); },
            [self, answered](const caf::error& e) {
              answered(Result<v1::OfferReply>(error(Code::unavailable, self->system().render(e))));
            });
}

}  // namespace troupe::actors
