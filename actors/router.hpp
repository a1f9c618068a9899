// The router actor: feeds Placement with workers, events and loads, and answers placements.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "actors/booking_ledger.hpp"
#include "actors/interfaces.hpp"
#include "actors/metrics.hpp"
#include "actors/peer_parts.hpp"
#include "actors/placement.hpp"

namespace troupe::actors {

struct RouterState {
  RouterState(PlacementOptions options, std::shared_ptr<Metrics> counts)
      : placement(options), metrics(std::move(counts)) {}

  struct Worker {
    v1::NodeInfo node;
    v1::LoadReport load;
    caf::strong_actor_ptr handle;
    TimeUs heard_us = 0;
  };
  struct Store {
    v1::NodeInfo node;
    v1::StoreReport report;
    caf::strong_actor_ptr handle;
  };
  Placement placement;
  std::shared_ptr<Metrics> metrics;
  std::map<std::string, Worker> workers;
  std::map<std::string, Store> stores;
  /// What clients have booked and not finished: it goes when they do.
  BookingLedger ledger;
  std::map<caf::actor_addr, PeerKey> clients;
  PeerKey last_client = 0;
  PeerParts parts;
};

RouterActor::behavior_type router(RouterActor::stateful_pointer<std::shared_ptr<RouterState>> self,
                                  PlacementOptions options, std::shared_ptr<Metrics> metrics);

}  // namespace troupe::actors
