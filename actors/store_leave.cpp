// The part of StoreLogic that leaves: another store is offered what lies in memory.
#include <algorithm>

#include "actors/limits.hpp"
#include "actors/store_logic.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"

namespace troupe::actors {

void StoreLogic::begin_leaving(PeerKey heir, TimeUs now) {
  if (is_leaving_) return;
  is_leaving_ = true;
  if (!blocks_) return;
  OfferPorts ports;
  ports.send = ports_.send_offer;
  ports.draw_session = ports_.draw_session;
  ports.grant = ports_.grant;
  ports.revoke = ports_.revoke;
  ports.revoke_page = ports_.revoke_page;
  offers_ = std::make_unique<StoreOffers>(pages_of(*blocks_), transport_address_, fingerprint_,
                                          std::move(ports));
  offers_->set_store(heir);
  const std::vector<kv::BlockName> names = blocks_->names_by_worth();
  to_offer_.assign(names.begin(), names.end());
  log_info("store", concat("hands ", names.size(), " blocks over to another store"));
  pump_offers(now);
}

void StoreLogic::on_offer_reply(uint64_t session, const Result<v1::OfferReply>& reply, TimeUs now) {
  if (!offers_) return;
  offers_->on_reply(session, reply, now);
  pump_offers(now);
}

void StoreLogic::pump_offers(TimeUs now) {
  if (!offers_) return;
  // The queue of offers forgets its oldest when it is full: never more than it can keep.
  const size_t room = limits::offer_queue_max / 2;
  while (!to_offer_.empty() && offers_->num_waiting() < room) {
    offers_->add(to_offer_.front(), blocks_->root_of(to_offer_.front()));
    to_offer_.pop_front();
  }
  offers_->pump(now);
}

size_t StoreLogic::num_leaving() const {
  if (!offers_) return 0;
  return to_offer_.size() + offers_->num_waiting() + offers_->num_sessions();
}

}  // namespace troupe::actors
