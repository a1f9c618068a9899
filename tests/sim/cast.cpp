#include "tests/sim/cast.hpp"

#include "actors/monitor_actor.hpp"
#include "base/concat.hpp"
#include "tests/sim/expected.hpp"

namespace troupe::sim {
namespace {

template <class Handle>
caf::strong_actor_ptr pointer(const Handle& handle) {
  return caf::actor_cast<caf::strong_actor_ptr>(handle);
}

/// The state of an actor, for a look at it from outside.
template <class Actor, class State>
State* state_of(const caf::strong_actor_ptr& actor) {
  if (!actor) return nullptr;
  using Shell =
      std::remove_pointer_t<typename Actor::template stateful_pointer<std::shared_ptr<State>>>;
  auto* shell = dynamic_cast<Shell*>(actor->get());
  return shell == nullptr ? nullptr : shell->state.get();
}

}  // namespace

WorkerRig::WorkerRig(const NodePlan& plan)
    : backend(std::make_shared<engine::SimBackend>(device_options())),
      events(std::make_shared<kv::EventLog>()),
      core(std::make_shared<std::weak_ptr<actors::WorkerCore>>()) {
  const kv::KvLayout& layout = backend->kv_layout();
  pool = std::make_shared<kv::Pool>(kv::allocate_region(plan.pages * layout.block_bytes()).value(),
                                    layout);
  (void)backend->attach_pool(pool->region());
  index = std::make_shared<kv::LocalIndex>(*pool, *events);
  engine::EngineLimits limits;
  limits.chunk_tokens = 96;
  limits.step_tokens_max = 192;
  engine = std::make_shared<engine::Engine>(*backend, *pool, *index, limits);
}

std::string WorkerRig::check() const {
  uint32_t used = 0;
  for (kv::PageId page = 0; page < pool->num_pages(); ++page) {
    used += pool->references(page) > 0 ? 1 : 0;
  }
  if (used + pool->num_free() != pool->num_pages()) {
    return concat(used, " pages used and ", pool->num_free(), " free of ", pool->num_pages());
  }
  if (index->size() > used) return concat(index->size(), " blocks indexed, ", used, " pages used");
  return {};
}

StoreRig::StoreRig(const NodePlan& plan)
    : block_bytes(engine::sim_layout().block_bytes()),
      // One with a disk has so little memory that it must use it.
      region(kv::allocate_region((plan.has_disk() ? plan.pages / 8 : plan.pages) * block_bytes)
                 .value()) {}

caf::behavior connector(caf::event_based_actor* self, Connect connect) {
  using Promise =
      caf::typed_response_promise<caf::node_id, caf::strong_actor_ptr, std::set<std::string>>;
  return {
      [self, connect](caf::connect_atom, const std::string& host, uint16_t port) -> Promise {
        auto promise = std::make_shared<Promise>(self->make_response_promise<Promise>());
        auto handle = caf::actor_cast<caf::actor>(self);
        connect(host, port, [promise, handle](Result<caf::strong_actor_ptr> found) {
          auto answer = [promise, found] {
            if (found) {
              promise->deliver(caf::node_id{}, *found, std::set<std::string>{});
            } else {
              promise->deliver(caf::make_error(caf::sec::cannot_connect_to_node));
            }
          };
          caf::anon_send(handle, actors::Closure{std::make_shared<std::function<void()>>(answer)});
        });
        return *promise;
      },
      [](const actors::Closure& closure) { (*closure.run)(); },
  };
}

Life::Life(Stage& stage, size_t at)
    : id(stage.links.add(at).life), slot(at), plan(stage.plan.nodes[at]), stage_(stage) {
  auto& system = stage.system;
  auto connect = [this](const std::string&, uint16_t port, auto done) {
    const size_t to = static_cast<size_t>(port - first_port);
    stage_.links.connect(id, to, [this, to, done](Result<LinkId> link) {
      if (!link) {
        done(link.error());
        return;
      }
      const LifeId other = stage_.links.other_end(*link, id);
      done(stage_.fabric.proxy(id, *link, stage_.fabric.published(other)));
    });
  };
  auto connects = keep(pointer(system.spawn(connector, Connect(connect))));

  actors::Caller caller;
  caller.cluster = cluster_name;
  caller.name = plan.name;
  caller.incarnation = incarnation_ = actors::random_u64();
  caller.connector = caf::actor_cast<caf::actor>(connects);
  size_t directory = 0;
  while (!stage.plan.nodes[directory].has("directory")) ++directory;
  const auto directory_port = static_cast<uint16_t>(first_port + directory);
  if (plan.is_client()) {
    start_client(caller, directory_port);
  } else if (plan.is_monitor()) {
    start_monitor(caller, directory_port);
  } else {
    start_node(std::move(caller), directory_port);
  }
}

void Life::start_client(const actors::Caller& caller, uint16_t directory_port) {
  actors::ClientSetup setup;
  setup.caller = caller;
  setup.directory_host = "sim";
  setup.directory_port = directory_port;
  client_core_ = std::make_shared<actors::ClientCore*>(nullptr);
  client_ = stage_.system.spawn(actors::client_actor, std::move(setup), client_core_);
  keep(pointer(client_));
}

void Life::start_monitor(const actors::Caller& caller, uint16_t directory_port) {
  actors::MonitorSetup setup;
  setup.caller = caller;
  setup.directory_host = "sim";
  setup.directory_port = directory_port;
  setup.interval_ms = 100;
  setup.handlers.on_members = [](const v1::Members&) {};
  setup.handlers.on_update = [watched = watched_](const v1::NodeInfo& node,
                                                  const v1::MetricsUpdate& update) {
    const uint64_t incarnation = node.incarnation();
    return watched->try_emplace(incarnation, actors::NodeMetrics(incarnation))
        .first->second.take(update);
  };
  keep(pointer(stage_.system.spawn(actors::monitor_actor, std::move(setup))));
}

void Life::start_node(actors::Caller caller, uint16_t directory_port) {
  state_ = std::make_shared<actors::NodeState>();
  state_->cluster = cluster_name;
  state_->directory_host = "sim";
  state_->directory_port = directory_port;
  state_->connector = caller.connector;
  v1::NodeInfo& info = state_->info;
  info.set_name(plan.name);
  for (const std::string& role : plan.roles) info.add_roles(role);
  info.set_host("sim");
  info.set_port(first_port + static_cast<uint32_t>(slot));
  info.set_incarnation(caller.incarnation);
  info.set_health("ready");
  if (plan.works()) {
    worker = std::make_unique<WorkerRig>(plan);
    info.set_kv_fingerprint(fingerprint());
    info.set_tokens_per_block(worker->pool->layout().tokens_per_block);
  }
  auto node = stage_.system.spawn(actors::node_actor, state_);
  node_ = keep(pointer(node));
  stage_.fabric.publish(id, node_);
  caller.local_node = node;
  start_roles(caller);
  caf::anon_send(node, caf::tick_atom_v);
}

caf::strong_actor_ptr Life::keep(caf::strong_actor_ptr actor) {
  stage_.fabric.settle(actor, id);
  actors_.push_back(actor);
  return actor;
}

void Life::add(const char* role, caf::strong_actor_ptr actor) {
  state_->roles[role] = keep(std::move(actor));
}

void Life::kill() {
  dead = true;
  for (const caf::strong_actor_ptr& actor : actors_) {
    caf::anon_send_exit(caf::actor_cast<caf::actor>(actor), caf::exit_reason::kill);
  }
  actors_.clear();
  if (state_) {
    state_->roles.clear();
    state_->member_listeners.clear();
    state_->connector = nullptr;
    state_->drain_role = nullptr;
  }
  node_ = nullptr;
  router_ = nullptr;
  store_ = nullptr;
  worker_actor_ = nullptr;
  client_ = nullptr;
}

void Life::close() {
  if (!worker_actor_) return;
  auto run = [core = worker->core] {
    if (auto alive = core->lock()) alive->logic().close(false);
  };
  caf::anon_send(worker_actor_, actors::Closure{std::make_shared<std::function<void()>>(run)});
}

void Life::on_client(std::function<void(actors::ClientCore&)> run) {
  auto call = [core = client_core_, run] { run(**core); };
  caf::anon_send(client_, actors::Closure{std::make_shared<std::function<void()>>(call)});
}

actors::RouterState* Life::router() const {
  return state_of<actors::RouterActor, actors::RouterState>(router_);
}

std::string Life::health() const {
  return state_->info.health();
}

std::vector<uint64_t> Life::role_actors() const {
  std::vector<uint64_t> ids;
  for (const auto& [role, actor] : state_->roles) ids.push_back(actor->id());
  return ids;
}

actors::StoreCore* Life::store() const {
  return state_of<actors::KvStoreActor, actors::StoreCore>(store_);
}

std::string Life::check() const {
  if (dead) return {};
  if (worker) {
    std::string wrong = worker->check();
    if (!wrong.empty()) return wrong;
  }
  if (actors::StoreCore* core = store(); core != nullptr && core->logic().blocks() != nullptr) {
    const kv::BlockStoreStats stats = core->logic().blocks()->stats();
    if (stats.free + stats.held + stats.arriving > stats.total ||
        (stats.corrupt == 0 && stats.free + stats.held + stats.arriving != stats.total)) {
      return concat(stats.free, " pages free, ", stats.held, " held and ", stats.arriving,
                    " arriving of ", stats.total);
    }
  }
  return worker || store_rig ? stage_.reads.unheld(id) : std::string();
}

std::string Life::still_running() const {
  if (!worker || dead) return {};
  const auto core = worker->core->lock();
  if (!core) return concat(plan.name, " has no worker");
  const v1::LoadReport load = core->logic().load(stage_.events.now);
  if (load.running() + load.waiting() == 0) return {};
  return concat(plan.name, " has ", load.running(), " running, ", load.waiting(), " waiting");
}

std::string Life::left_over() const {
  if (dead || (!worker && !store_rig)) return {};
  std::string left = worker ? left_in_worker() : left_in_store();
  if (left.empty() && stage_.reads.num_granted(id) != 0) {
    left = concat("still grants ", stage_.reads.num_granted(id), " pages");
  }
  if (left.empty() && stage_.reads.num_running(id) != 0) left = "still reads";
  if (const LifeId peer = stage_.reads.dead_peer(id); left.empty() && peer != 0) {
    left = concat("is still connected to life ", peer, ", which is dead");
  }
  return left.empty() ? left : concat(plan.name, " ", left);
}

std::string Life::left_in_worker() const {
  const auto core = worker->core->lock();
  if (!core) return "has no worker";
  const v1::LoadReport load = core->logic().load(stage_.events.now);
  const kv::Pool& pool = *worker->pool;
  if (load.sessions() != 0) return concat("has ", load.sessions(), " sessions");
  if (pool.num_free() + worker->index->size() == pool.num_pages() &&
      worker->index->num_evictable() == worker->index->size()) {
    return {};
  }
  return concat("has ", pool.num_free(), " pages free and ", worker->index->size(), " indexed (",
                worker->index->num_evictable(), " evictable) of ", pool.num_pages());
}

std::string Life::left_in_store() const {
  actors::StoreCore* core = store();
  if (core == nullptr) return "has no store";
  const v1::StoreReport report = core->logic().report();
  if (report.sessions() + report.blocks_arriving() + report.blocks_pinned() == 0) return {};
  return concat("has ", report.sessions(), " sessions, ", report.blocks_arriving(),
                " blocks arriving and ", report.blocks_pinned(), " pinned");
}

}  // namespace troupe::sim
