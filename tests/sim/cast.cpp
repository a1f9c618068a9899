#include "tests/sim/cast.hpp"

#include "actors/device.hpp"
#include "actors/directory.hpp"
#include "actors/front.hpp"
#include "base/concat.hpp"
#include "tests/sim/expected.hpp"
#include "tests/text/small_tokenizer.hpp"

namespace troupe::sim {
namespace {

const std::string& fingerprint() {
  static const std::string all_alike(32, 'f');
  return all_alike;
}

model::Model front_model() {
  model::Model model;
  model.config.vocab_size = static_cast<uint32_t>(tokenizer()->size());
  model.config.context_max = context_max;
  model.tokenizer = text::small_spec();
  return model;
}

v1::DeviceProfile profile_of(const NodePlan& plan) {
  v1::DeviceProfile profile;
  profile.set_prefill_us_per_token(static_cast<double>(plan.step_us) / 10);
  profile.set_attention_ns_per_token_per_context(10);
  profile.set_decode_us_per_step(static_cast<double>(plan.step_us));
  profile.set_transfer_bytes_per_us(500);
  return profile;
}

template <class Handle>
caf::strong_actor_ptr pointer(const Handle& handle) {
  return caf::actor_cast<caf::strong_actor_ptr>(handle);
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
  caller.incarnation = actors::random_u64();
  caller.connector = caf::actor_cast<caf::actor>(connects);
  size_t directory = 0;
  while (!stage.plan.nodes[directory].has("directory")) ++directory;
  const auto directory_port = static_cast<uint16_t>(first_port + directory);

  if (plan.roles.empty()) {
    actors::ClientSetup setup;
    setup.caller = caller;
    setup.directory_host = "sim";
    setup.directory_port = directory_port;
    client_core_ = std::make_shared<actors::ClientCore*>(nullptr);
    client_ = system.spawn(actors::client_actor, std::move(setup), client_core_);
    keep(pointer(client_));
    return;
  }
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
  auto node = system.spawn(actors::node_actor, state_);
  node_ = keep(pointer(node));
  stage.fabric.publish(id, node_);
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

void Life::start_roles(const actors::Caller& caller) {
  auto& system = stage_.system;
  if (plan.has("directory")) {
    add("directory",
        pointer(system.spawn(actors::directory,
                             std::make_shared<actors::DirectoryState>(cluster_name, ""))));
  }
  if (plan.has("router")) {
    actors::PlacementOptions placement;
    placement.prefill_blocks_min = 1;
    router_ = pointer(system.spawn(actors::router, placement, std::make_shared<actors::Metrics>()));
    add("router", router_);
  }
  if (plan.has("front")) {
    auto preparer = actors::Preparer::make(front_model(), context_max, "sim");
    add("front",
        pointer(system.spawn(actors::front, std::shared_ptr<actors::Preparer>(std::move(*preparer)),
                             std::make_shared<actors::Metrics>())));
    state_->member_listeners.push_back(state_->roles["front"]);
  }
  if (plan.works()) start_worker(caller);
}

void Life::start_worker(const actors::Caller& caller) {
  auto& system = stage_.system;
  actors::WorkerSetup setup;
  setup.caller = caller;
  setup.node = state_;
  setup.transport = stage_.reads.add(id, *worker->pool);
  setup.pool = worker->pool;
  setup.events = worker->events;
  setup.index = worker->index;
  setup.engine = worker->engine;
  setup.tokenizer = tokenizer();
  setup.fingerprint = fingerprint();
  setup.profile = profile_of(plan);
  const auto device = keep(pointer(system.spawn(actors::device, worker->backend)));
  const auto step_us = [this] {
    const double us = static_cast<double>(plan.step_us) * stage_.device_slowness;
    return static_cast<TimeUs>(us) + static_cast<TimeUs>(stage_.random.below(100));
  };
  setup.device = caf::actor_cast<actors::DeviceActor>(stage_.fabric.device_path(step_us, device));
  worker_actor_ = system.spawn(actors::worker, std::move(setup), worker->core);
  const auto handle = keep(pointer(worker_actor_));
  for (const char* role : {"prefill", "decode"}) {
    if (plan.has(role)) state_->roles[role] = handle;
  }
  state_->member_listeners.push_back(handle);
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
  }
  node_ = nullptr;
  router_ = nullptr;
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
  if (!router_) return nullptr;
  using Shell = std::remove_pointer_t<
      actors::RouterActor::stateful_pointer<std::shared_ptr<actors::RouterState>>>;
  auto* shell = dynamic_cast<Shell*>(router_->get());
  return shell == nullptr ? nullptr : shell->state.get();
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
  if (!worker || dead) return {};
  const auto core = worker->core->lock();
  if (!core) return concat(plan.name, " has no worker");
  const v1::LoadReport load = core->logic().load(stage_.events.now);
  const kv::Pool& pool = *worker->pool;
  if (load.sessions() != 0) return concat(plan.name, " has ", load.sessions(), " sessions");
  if (pool.num_free() + worker->index->size() != pool.num_pages() ||
      worker->index->num_evictable() != worker->index->size()) {
    return concat(plan.name, " has ", pool.num_free(), " pages free and ", worker->index->size(),
                  " indexed (", worker->index->num_evictable(), " evictable) of ",
                  pool.num_pages());
  }
  if (stage_.reads.num_granted(id) != 0) {
    return concat(plan.name, " still grants ", stage_.reads.num_granted(id), " pages");
  }
  if (stage_.reads.num_running(id) != 0) return concat(plan.name, " still reads");
  return {};
}

}  // namespace troupe::sim
