// What a worker tells routers: who it is, what it holds, its load; and whom it learns of.
#include <algorithm>

#include "actors/worker.hpp"

namespace troupe::actors {

RouterLinkPorts WorkerCore::make_router_ports() {
  RouterLinkPorts ports;
  ports.hello = [this] {
    v1::WorkerHello hello;
    *hello.mutable_profile() = setup_.profile;
    hello.set_block_bytes(setup_.pool->layout().block_bytes());
    hello.set_blocks_total(setup_.pool->num_pages());
    hello.set_blocks_free(setup_.pool->num_free());
    hello.set_sequence_blocks_max(setup_.engine->sequence_blocks_max());
    return hello;
  };
  ports.snapshot = [this] {
    v1::KvSnapshot snapshot;
    snapshot.set_names(schemas::pack_names(setup_.index->names()));
    return snapshot;
  };
  ports.on_known = [this] { setup_.node->worker_known = true; };
  return ports;
}

void WorkerCore::on_members(const v1::Members& members) {
  routers_->on_members(members);
  is_elsewhere_ =
      std::any_of(members.nodes().begin(), members.nodes().end(), [this](const v1::NodeInfo& node) {
        const auto& roles = node.roles();
        return node.incarnation() != setup_.caller.incarnation && node.health() == "ready" &&
               node.kv_fingerprint() == setup_.fingerprint &&
               std::find(roles.begin(), roles.end(), "decode") != roles.end();
      });
  move_if_drained();
  if (routers_->own().name().empty()) return;
  follow_draft(members);
  choose_store(members);
}

}  // namespace troupe::actors
