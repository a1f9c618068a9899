#include "actors/monitor_actor.hpp"

#include <algorithm>
#include <set>

#include "actors/limits.hpp"
#include "base/log.hpp"

namespace troupe::actors {
namespace {

/// A node that could not be asked, or refused, is asked again after this long.
constexpr TimeUs ask_again_us = 1'000'000;

}  // namespace

MonitorCore::MonitorCore(MonitorActor::pointer self, MonitorSetup setup)
    : self_(self), setup_(std::move(setup)) {}

void MonitorCore::take_members(const v1::Members& members) {
  std::set<uint64_t> there;
  for (const v1::NodeInfo& info : members.nodes()) {
    there.insert(info.incarnation());
    nodes_[info.incarnation()].info = info;
  }
  std::erase_if(nodes_, [&there](const auto& entry) { return !there.contains(entry.first); });
  setup_.handlers.on_members(members);
}

void MonitorCore::subscribe(Node& node) {
  node.asking = true;
  node.asked_us = now_us();
  const uint64_t incarnation = node.info.incarnation();
  if (node.metrics) {
    send_subscription(incarnation, node.metrics);
    return;
  }
  resolve(self_, setup_.caller, node.info, "metrics", [this, incarnation](auto resolved) {
    if (resolved) {
      send_subscription(incarnation, resolved->second);
    } else {
      on_refused(incarnation);
    }
  });
}

void MonitorCore::send_subscription(uint64_t incarnation, const caf::strong_actor_ptr& metrics) {
  v1::Subscribe wanted;
  wanted.set_interval_ms(setup_.interval_ms);
  self_
      ->request(caf::actor_cast<MetricsActor>(metrics),
                std::chrono::milliseconds(limits::request_timeout_ms), wanted,
                caf::actor_cast<caf::strong_actor_ptr>(self_))
      .then([this, incarnation, metrics](
                const v1::SubscribeReply& reply) { on_subscribed(incarnation, metrics, reply); },
            [this, incarnation](const caf::error&) { on_refused(incarnation); });
}

void MonitorCore::on_subscribed(uint64_t incarnation, const caf::strong_actor_ptr& metrics,
                                const v1::SubscribeReply& reply) {
  const auto found = nodes_.find(incarnation);
  if (found == nodes_.end()) return;
  if (schemas::failed(reply.failure())) {
    log_warning("monitor", concat("node ", found->second.info.name(), ": ",
                                  schemas::from_wire(reply.failure()).message()));
    on_refused(incarnation);
    return;
  }
  Node& node = found->second;
  node.asking = false;
  node.heard_us = now_us();
  if (!node.metrics) self_->monitor(metrics);
  node.metrics = metrics;
}

void MonitorCore::on_refused(uint64_t incarnation) {
  const auto found = nodes_.find(incarnation);
  if (found == nodes_.end()) return;
  found->second.asking = false;
  found->second.metrics = nullptr;
}

void MonitorCore::on_update(const v1::MetricsUpdate& update, const caf::strong_actor_ptr& sender) {
  const auto found = nodes_.find(update.incarnation());
  // What was sent before a subscription began again is not part of it.
  if (found == nodes_.end() || found->second.asking || !sender) return;
  Node& node = found->second;
  node.heard_us = now_us();
  const Taken taken = setup_.handlers.on_update(node.info, update);
  if (taken == Taken::gap || taken == Taken::corrupt) {
    log_debug("monitor", concat("node ", node.info.name(), ": ", name(taken)));
    subscribe(node);
    return;
  }
  v1::MetricsAck ack;
  ack.set_number(update.number());
  self_->send(caf::actor_cast<MetricsActor>(sender), ack);
}

void MonitorCore::on_down(const caf::actor_addr& who) {
  for (auto& [incarnation, node] : nodes_) {
    if (node.metrics && node.metrics == who) node.metrics = nullptr;
  }
}

void MonitorCore::on_tick() {
  const TimeUs now = now_us();
  const TimeUs silence_us = std::max<TimeUs>(3'000'000, 3 * TimeUs{setup_.interval_ms} * 1000);
  for (auto& [incarnation, node] : nodes_) {
    const bool silent = !node.metrics || now - node.heard_us > silence_us;
    if (silent && !node.asking && now - node.asked_us > ask_again_us) subscribe(node);
  }
  if (refreshing_) return;
  refreshing_ = true;
  ask_members(self_, setup_.caller, setup_.directory_host, setup_.directory_port,
              [this](Result<v1::Members> members) {
                refreshing_ = false;
                if (members) {
                  take_members(*members);
                } else if (nodes_.empty() && members.error().code != Code::unavailable &&
                           setup_.handlers.on_refused) {
                  setup_.handlers.on_refused(members.error());
                }
              });
}

MonitorActor::behavior_type monitor_actor(
    MonitorActor::stateful_pointer<std::shared_ptr<MonitorCore>> self, MonitorSetup setup) {
  self->state = std::make_shared<MonitorCore>(self, std::move(setup));
  auto core = self->state;
  self->set_down_handler([core](const caf::down_msg& down) { core->on_down(down.source); });
  self->send(self, caf::tick_atom_v);
  return {
      [core, self](const v1::MetricsUpdate& update) {
        core->on_update(update, self->current_sender());
      },
      [core, self](caf::tick_atom) {
        core->on_tick();
        self->delayed_send(self, std::chrono::milliseconds(limits::renew_interval_ms),
                           caf::tick_atom_v);
      },
  };
}

}  // namespace troupe::actors
