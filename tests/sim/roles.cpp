// The roles of a simulated process.
#include "actors/device.hpp"
#include "actors/directory.hpp"
#include "actors/draft.hpp"
#include "actors/front.hpp"
#include "actors/metrics_actor.hpp"
#include "tests/sim/cast.hpp"
#include "tests/sim/expected.hpp"
#include "tests/sim/liar.hpp"
#include "tests/text/small_tokenizer.hpp"

namespace troupe::sim {
namespace {

/// Bytes a microsecond that blocks are read with.
constexpr double transfer_rate = 500;
/// So small that old texts go.
constexpr size_t draft_index_bytes = 200'000;

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
  profile.set_transfer_bytes_per_us(transfer_rate);
  return profile;
}

template <class Handle>
caf::strong_actor_ptr address_of(const Handle& handle) {
  return caf::actor_cast<caf::strong_actor_ptr>(handle);
}

}  // namespace

const std::string& fingerprint() {
  static const std::string all_alike(32, 'f');
  return all_alike;
}

void Life::start_roles(const actors::Caller& caller) {
  auto& system = stage_.system;
  add("metrics", address_of(system.spawn(actors::metrics_actor, metrics_, incarnation_)));
  if (plan.has("directory")) {
    add("directory",
        address_of(system.spawn(actors::directory,
                                std::make_shared<actors::DirectoryState>(cluster_name, ""))));
  }
  if (plan.has("router")) {
    actors::PlacementOptions placement;
    placement.prefill_blocks_min = 1;
    router_ = address_of(system.spawn(actors::router, placement, metrics_));
    add("router", router_);
  }
  if (plan.has("front")) {
    auto preparer = actors::Preparer::make(front_model(), context_max, "sim");
    add("front",
        address_of(system.spawn(
            actors::front, std::shared_ptr<actors::Preparer>(std::move(*preparer)), metrics_)));
    state_->member_listeners.push_back(state_->roles["front"]);
  }
  if (plan.has("draft")) start_draft();
  if (plan.works()) start_worker(caller);
  if (plan.has("kv_store")) start_store(caller);
}

void Life::start_draft() {
  auto& system = stage_.system;
  if (plan.lies) {
    const auto helper = keep(address_of(system.spawn(late_teller)));
    add("draft",
        address_of(system.spawn(liar, &stage_.random, static_cast<int32_t>(tokenizer()->size()),
                                caf::actor_cast<caf::actor>(helper))));
    return;
  }
  add("draft", address_of(system.spawn(actors::draft, draft_index_bytes, metrics_)));
}

void Life::start_store(const actors::Caller& caller) {
  store_rig = std::make_unique<StoreRig>(plan);
  actors::StoreSetup setup;
  setup.caller = caller;
  setup.node = state_;
  setup.region = store_rig->region;
  setup.copy_bytes_per_us = transfer_rate;
  setup.metrics = metrics_;
  PageMemory memory;
  memory.block_bytes = store_rig->block_bytes;
  memory.num_pages = static_cast<uint32_t>(store_rig->region.bytes / store_rig->block_bytes);
  memory.page = [rig = store_rig.get()](kv::PageId page) {
    return rig->region.data + page * rig->block_bytes;
  };
  memory.is_held = [this](kv::PageId page) {
    actors::StoreCore* core = store();
    return core == nullptr || core->logic().blocks()->is_busy(page);
  };
  setup.transport = stage_.reads.add(id, std::move(memory));
  if (plan.has_disk()) setup.disk = start_disk();
  setup.serve = [this](size_t, uint32_t) { return Result<std::string>(Reads::address(id)); };
  store_ = address_of(stage_.system.spawn(actors::kv_store, std::move(setup),
                                          std::make_shared<std::weak_ptr<actors::StoreCore>>()));
  add("kv_store", store_);
  state_->member_listeners.push_back(store_);
}

/// A disk with one head: jobs are done in their order, take their time, and fail.
actors::StoreDiskSetup Life::start_disk() {
  constexpr uint64_t disk_bytes = 3u << 20;  // so small that segments go
  constexpr double fail = 0.02;
  SlotDisk& own = stage_.disks.try_emplace(slot, plan.pages).first->second;
  own.busy_until = stage_.events.now;
  actors::StoreDiskSetup setup;
  setup.bytes_max = disk_bytes;
  setup.found = own.disk.found();
  setup.submit = [this, &own](const kv::DiskJob& job, auto done) {
    const bool may_fail = stage_.disks_fail && !stage_.plan.faults.empty();
    TimeUs takes = own.random.between(50, 2000);
    if (may_fail && own.random.chance(fail)) takes = own.random.between(1, 6) * second;
    const bool fails = may_fail && own.random.chance(fail);
    own.busy_until = std::max(own.busy_until, stage_.events.now) + takes;
    stage_.events.after(own.busy_until - stage_.events.now, [this, &own, job, done, fails] {
      // What a killed process had asked for is not done.
      if (dead) return;
      done({job.id, fails ? Status(error(Code::unavailable, "the disk failed")) : own.disk.run(job),
            1000});
    });
  };
  return setup;
}

void Life::start_worker(const actors::Caller& caller) {
  auto& system = stage_.system;
  actors::WorkerSetup setup;
  setup.caller = caller;
  setup.node = state_;
  setup.transport = stage_.reads.add(id, memory_of(*worker->pool));
  setup.pool = worker->pool;
  setup.events = worker->events;
  setup.index = worker->index;
  setup.engine = worker->engine;
  setup.tokenizer = tokenizer();
  setup.fingerprint = fingerprint();
  setup.profile = profile_of(plan);
  setup.metrics = metrics_;
  const auto device = keep(address_of(system.spawn(actors::device, worker->backend)));
  const auto step_us = [this] {
    const double us = static_cast<double>(plan.step_us) * stage_.device_slowness;
    return static_cast<TimeUs>(us) + static_cast<TimeUs>(stage_.random.below(100));
  };
  setup.device = caf::actor_cast<actors::DeviceActor>(stage_.fabric.device_path(step_us, device));
  worker_actor_ = system.spawn(actors::worker, std::move(setup), worker->core);
  const auto handle = keep(address_of(worker_actor_));
  for (const char* role : {"prefill", "decode"}) {
    if (plan.has(role)) state_->roles[role] = handle;
  }
  state_->member_listeners.push_back(handle);
  state_->drain_role = [core = worker->core, worker = worker_actor_] {
    auto run = [core] {
      if (auto alive = core->lock()) alive->drain();
    };
    caf::anon_send(worker, actors::Closure{std::make_shared<std::function<void()>>(run)});
  };
}

}  // namespace troupe::sim
