// The store that a worker offers its full blocks to.
#include "actors/ask_store.hpp"
#include "actors/store_for.hpp"
#include "actors/worker.hpp"
#include "base/concat.hpp"

namespace troupe::actors {

void WorkerCore::choose_store(const v1::Members& members) {
  if (setup_.transport.empty()) return;
  const v1::NodeInfo* best = store_for(members, routers_->own());
  const uint64_t incarnation = best == nullptr ? 0 : best->incarnation();
  if (incarnation == store_incarnation_) return;
  store_incarnation_ = incarnation;
  logic_->offers().set_store(std::nullopt);
  if (best != nullptr) greet_store(*best);
}

void WorkerCore::greet_store(const v1::NodeInfo& node) {
  const uint64_t incarnation = node.incarnation();
  resolve(self_, setup_.caller, node, "kv_store", [this, incarnation](auto resolved) {
    if (store_incarnation_ != incarnation) return;
    if (resolved) {
      logic_->offers().set_store(key_of(resolved->second));
    } else {
      store_incarnation_ = 0;  // the next membership brings another try
    }
  });
}

void WorkerCore::send_offer(PeerKey store, const v1::Offer& offer) {
  const uint64_t session = offer.session();
  const auto answered = [this, session](const Result<v1::OfferReply>& reply) {
    logic_->offers().on_reply(session, reply, now_us());
    settle();
  };
  const auto found = peers_.find(store);
  if (found == peers_.end()) {
    post([answered] { answered(error(Code::unavailable, "the store is gone")); });
    return;
  }
  ask_store(self_, found->second, offer, answered);
}

}  // namespace troupe::actors
