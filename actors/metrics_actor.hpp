// The metrics actor of a process: a shell around MetricsPublisher. Does nothing while nobody
// watches. Internal to actors/.
#pragma once

#include <map>
#include <memory>

#include "actors/interfaces.hpp"
#include "actors/metrics_publisher.hpp"

namespace troupe::actors {

struct MetricsActorState {
  std::shared_ptr<Metrics> metrics;
  std::unique_ptr<MetricsPublisher> publisher;
  std::map<caf::actor_addr, MetricsPublisher::Key> keys;
  std::map<MetricsPublisher::Key, caf::strong_actor_ptr> sinks;
  MetricsPublisher::Key last_key = 0;
  bool ticking = false;
};

MetricsActor::behavior_type metrics_actor(MetricsActor::stateful_pointer<MetricsActorState> self,
                                          std::shared_ptr<Metrics> metrics, uint64_t incarnation);

}  // namespace troupe::actors
