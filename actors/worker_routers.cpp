// What a worker tells routers: who it is, its KV events, snapshots after a gap.
#include <algorithm>

#include "actors/limits.hpp"
#include "actors/parts_sender.hpp"
#include "actors/worker.hpp"
#include "base/log.hpp"

namespace troupe::actors {

void WorkerCore::on_members(const v1::Members& members) {
  for (const v1::NodeInfo& node : members.nodes()) {
    if (node.incarnation() == setup_.caller.incarnation) own_ = node;
  }
  is_elsewhere_ =
      std::any_of(members.nodes().begin(), members.nodes().end(), [this](const v1::NodeInfo& node) {
        const auto& roles = node.roles();
        return node.incarnation() != setup_.caller.incarnation && node.health() == "ready" &&
               node.kv_fingerprint() == setup_.fingerprint &&
               std::find(roles.begin(), roles.end(), "decode") != roles.end();
      });
  move_if_drained();
  if (own_.name().empty()) return;
  follow_draft(members);
  choose_store(members);
  for (const v1::NodeInfo& node : members.nodes()) {
    const bool routes =
        std::find(node.roles().begin(), node.roles().end(), "router") != node.roles().end();
    if (!routes) continue;
    const auto known = routers_.find(node.name());
    if (known != routers_.end() && known->second.node.incarnation() == node.incarnation()) continue;
    greet_router(node);
  }
}

void WorkerCore::greet_router(const v1::NodeInfo& node) {
  const std::string name = node.name();
  routers_[name] = Router{node, nullptr, 0, true, now_us()};
  resolve(self_, setup_.caller, node, "router", [this, name](auto resolved) {
    const auto found = routers_.find(name);
    if (found == routers_.end()) return;
    if (!resolved) {
      routers_.erase(found);  // the next membership brings another try
      return;
    }
    const caf::strong_actor_ptr handle = resolved->second;
    v1::WorkerHello hello;
    *hello.mutable_node() = own_;
    *hello.mutable_profile() = setup_.profile;
    hello.set_block_bytes(setup_.pool->layout().block_bytes());
    hello.set_blocks_total(setup_.pool->num_pages());
    hello.set_blocks_free(setup_.pool->num_free());
    hello.set_last_event(setup_.events->last_number());
    self_
        ->request(caf::actor_cast<RouterActor>(handle),
                  std::chrono::milliseconds(limits::request_timeout_ms), hello,
                  caf::actor_cast<caf::strong_actor_ptr>(self_))
        .then(
            [this, name, handle](const v1::WorkerHelloReply& reply) {
              const auto greeted = routers_.find(name);
              if (greeted == routers_.end()) return;
              if (schemas::failed(reply.failure())) {
                log_error("worker", "the router refuses us: " +
                                        schemas::from_wire(reply.failure()).message());
                return;
              }
              greeted->second.handle = handle;
              greeted->second.busy = false;
              greeted->second.heard_us = now_us();
              self_->monitor(handle);
              setup_.node->worker_known = true;
              if (reply.want_snapshot()) send_snapshot(name);
            },
            [this, name](const caf::error&) { routers_.erase(name); });
  });
}

void WorkerCore::report_load(const std::string& name) {
  const auto found = routers_.find(name);
  if (!found->second.handle) return;
  const TimeUs now = now_us();
  if (now - found->second.heard_us > limits::router_silence_us) {
    log_warning("worker", concat("router ", name, " does not answer; it is greeted anew"));
    routers_.erase(found);
    return;
  }
  v1::LoadReport load = logic_->load(now);
  load.set_name(own_.name());
  load.set_incarnation(own_.incarnation());
  self_
      ->request(caf::actor_cast<RouterActor>(found->second.handle),
                std::chrono::milliseconds(limits::request_timeout_ms), load)
      .then(
          [this, name](const v1::Pong& pong) {
            const auto router = routers_.find(name);
            if (router == routers_.end()) return;
            router->second.heard_us = now_us();
            // The next membership brings another greeting.
            if (pong.unknown()) routers_.erase(router);
          },
          [](const caf::error&) {});
}

void WorkerCore::send_events(Router& router) {
  if (!router.handle || router.busy || router.sent_events == setup_.events->last_number()) return;
  const std::string name = router.node.name();
  const auto events = setup_.events->since(router.sent_events, limits::events_max);
  if (!events) {
    send_snapshot(name);
    return;
  }
  v1::KvEvents wire = schemas::to_wire(*events);
  wire.set_name(own_.name());
  wire.set_incarnation(own_.incarnation());
  router.busy = true;
  router.sent_events += events->size();
  self_
      ->request(caf::actor_cast<RouterActor>(router.handle),
                std::chrono::milliseconds(limits::request_timeout_ms), wire)
      .then(
          [this, name](const v1::KvEventsReply& reply) {
            const auto found = routers_.find(name);
            if (found == routers_.end()) return;
            found->second.busy = false;
            if (reply.want_snapshot()) send_snapshot(name);
          },
          [this, name](const caf::error&) {
            const auto found = routers_.find(name);
            if (found == routers_.end()) return;
            found->second.busy = false;
            send_snapshot(name);
          });
}

void WorkerCore::send_snapshot(const std::string& name) {
  const auto found = routers_.find(name);
  if (found == routers_.end() || !found->second.handle || found->second.busy) return;
  v1::KvSnapshot snapshot;
  snapshot.set_name(own_.name());
  snapshot.set_incarnation(own_.incarnation());
  snapshot.set_last_number(setup_.events->last_number());
  snapshot.set_names(schemas::pack_names(setup_.index->names()));
  found->second.busy = true;
  found->second.sent_events = setup_.events->last_number();
  send_parts(self_, caf::actor_cast<PartSink>(found->second.handle), v1::PART_SNAPSHOT,
             snapshot.SerializeAsString(), [this, name](Status status) {
               const auto sent = routers_.find(name);
               if (sent == routers_.end()) return;
               sent->second.busy = false;
               if (!status) log_warning("worker", "snapshot: " + status.error().message());
             });
}

}  // namespace troupe::actors
