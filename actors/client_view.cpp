// What a client can see of the cluster: members from the directory, loads from the router.
#include "actors/client_actor.hpp"
#include "actors/limits.hpp"

namespace troupe::actors {
namespace {

StoreStatus to_status(const v1::StoreReport& report) {
  StoreStatus status;
  status.name = report.name();
  status.memory_bytes = report.memory_bytes();
  status.block_bytes = report.block_bytes();
  status.blocks = report.blocks();
  status.blocks_total = report.blocks_total();
  status.blocks_arriving = report.blocks_arriving();
  status.blocks_pinned = report.blocks_pinned();
  status.blocks_known = report.blocks_known();
  status.sessions = report.sessions();
  status.hits = report.hits();
  status.misses = report.misses();
  status.stored = report.stored();
  status.evicted = report.evicted();
  status.refused = report.refused();
  status.corrupt = report.corrupt();
  status.disk_bytes_max = report.disk_bytes_max();
  status.disk_bytes = report.disk_bytes();
  status.disk_blocks = report.disk_blocks();
  status.disk_waiting = report.disk_waiting();
  status.disk_read = report.disk_read();
  status.disk_written = report.disk_written();
  status.disk_dropped = report.disk_dropped();
  status.disk_corrupt = report.disk_corrupt();
  status.disk_failed = report.disk_failed();
  status.draining = report.draining();
  status.blocks_leaving = report.blocks_leaving();
  return status;
}

ClusterView to_view(const v1::Members& members, const v1::RouterStatus& router) {
  ClusterView view;
  for (const v1::NodeInfo& node : members.nodes()) {
    NodeStatus status;
    status.name = node.name();
    status.roles.assign(node.roles().begin(), node.roles().end());
    status.address = concat(node.host(), ":", node.port());
    status.pid = node.pid();
    status.incarnation = node.incarnation();
    status.health = node.health();
    status.device = node.device();
    view.nodes.push_back(std::move(status));
  }
  for (const v1::LoadReport& load : router.workers()) {
    WorkerStatus worker;
    worker.name = load.name();
    worker.waiting = load.waiting();
    worker.running = load.running();
    worker.blocks_free = load.blocks_free();
    worker.blocks_total = load.blocks_total();
    worker.blocks_indexed = load.blocks_indexed();
    worker.sessions = load.sessions();
    worker.prefill_tokens = load.prefill_tokens();
    worker.decode_tokens = load.decode_tokens();
    worker.cached_tokens = load.cached_tokens();
    worker.drafted = load.drafted();
    worker.accepted = load.accepted();
    worker.draining = load.draining();
    worker.unfit = load.unfit();
    view.workers.push_back(std::move(worker));
  }
  for (const v1::StoreReport& report : router.stores()) view.stores.push_back(to_status(report));
  view.bookings = router.bookings();
  return view;
}

}  // namespace

void ClientCore::view(std::function<void(Result<ClusterView>)> done) {
  if (members_.nodes_size() == 0) {
    await_members(done, [this, done] { view(done); });
    return;
  }
  with_role("router", [this, done](auto resolved) {
    if (!resolved) {
      done(to_view(members_, {}));
      return;
    }
    self_
        ->request(caf::actor_cast<RouterActor>(resolved->second),
                  std::chrono::milliseconds(limits::request_timeout_ms), v1::StatusQuery{})
        .then([this, done](const v1::RouterStatus& router) { done(to_view(members_, router)); },
              [this, done](const caf::error&) { done(to_view(members_, {})); });
  });
}

}  // namespace troupe::actors
