// The monitor actor: finds the nodes, subscribes to each, and again when one comes back or a gap
// shows. Internal to actors/.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "actors/interfaces.hpp"
#include "actors/monitor.hpp"
#include "actors/resolve.hpp"
#include "base/clock.hpp"

namespace troupe::actors {

struct MonitorSetup {
  Caller caller;
  std::string directory_host;
  uint16_t directory_port = 0;
  uint32_t interval_ms = 500;
  MonitorHandlers handlers;
};

class MonitorCore {
 public:
  MonitorCore(MonitorActor::pointer self, MonitorSetup setup);

  void on_update(const v1::MetricsUpdate& update, const caf::strong_actor_ptr& sender);
  void on_down(const caf::actor_addr& who);
  void on_tick();

 private:
  struct Node {
    v1::NodeInfo info;
    caf::strong_actor_ptr metrics;  ///< empty until subscribed
    bool asking = false;            ///< a subscription is under way
    TimeUs asked_us = 0;
    TimeUs heard_us = 0;
  };

  void take_members(const v1::Members& members);
  void subscribe(Node& node);
  void send_subscription(uint64_t incarnation, const caf::strong_actor_ptr& metrics);
  void on_subscribed(uint64_t incarnation, const caf::strong_actor_ptr& metrics,
                     const v1::SubscribeReply& reply);
  void on_refused(uint64_t incarnation);

  MonitorActor::pointer self_;
  MonitorSetup setup_;
  bool refreshing_ = false;
  std::map<uint64_t, Node> nodes_;  ///< by incarnation
};

MonitorActor::behavior_type monitor_actor(
    MonitorActor::stateful_pointer<std::shared_ptr<MonitorCore>> self, MonitorSetup setup);

}  // namespace troupe::actors
