// Builds a worker from its model: backend, pool, index, engine, transport, then the actors.
#include <unistd.h>

#include "actors/data_key.hpp"
#include "actors/device.hpp"
#include "actors/measure_device.hpp"
#include "actors/node_impl.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "cpu/pack_file.hpp"
#include "engine/logged_backend.hpp"
#include "kv/block_name.hpp"

namespace troupe::actors {
std::string Node::Impl::describe() const {
  if (store_region.data != nullptr) {
    return concat("store, ", store_region.bytes >> 20, " MiB for blocks");
  }
  if (!backend) return {};
  return concat(backend->capabilities().name, ", ", pool->num_pages(), " KV blocks of ",
                pool->layout().block_bytes() / 1024, " KiB, ",
                transport ? "transport ready" : "no transport");
}

Status Node::Impl::make_worker_parts(uint64_t incarnation, bool networked) {
  const WorkerOptions& worker = options.worker;
  if (worker.context_max > model->config.context_max) {
    return error(Code::invalid_argument,
                 concat("context_max is ", worker.context_max, ", but the model was made for ",
                        model->config.context_max, " tokens"),
                 concat("at most ", model->config.context_max));
  }
  cpu::CpuOptions cpu_options;
  cpu_options.mode = worker.compute;
  cpu_options.kv_types = worker.kv_types;
  cpu_options.threads = worker.threads;
  cpu_options.context_max = worker.context_max;
  cpu_options.pack = std::move(pack);
  cpu_options.pack_use = cpu::pack_use(has("decode"));
  cpu_options.step_tokens_max =
      std::max(cpu_options.step_tokens_max, worker.limits.step_tokens_max);
  kv::Region region;
  const bool moves = networked && (worker.shared_memory || worker.tcp);
  if (moves) {
    transport::TransportOptions moving;
    moving.data_address = worker.data_address;
    moving.shared_memory = worker.shared_memory;
    moving.tcp = worker.tcp;
    moving.incarnation = incarnation;
    moving.key = data_key(options.salt_secret);
    moving.connect_timeout_us = options.limits.connect_timeout_ms * 1000;
    TROUPE_ASSIGN(transport, transport::Transport::start(moving));
    TROUPE_ASSIGN(region, transport->allocate(worker.kv_bytes));
  } else {
    TROUPE_ASSIGN(region, kv::allocate_region(worker.kv_bytes));
  }
  if (worker.make_backend) {
    backend = worker.make_backend();
  } else {
    TROUPE_ASSIGN(backend, cpu::make_cpu_backend(model, cpu_options));
  }
  pool = std::make_shared<kv::Pool>(region, backend->kv_layout());
  if (pool->num_pages() == 0) {
    return error(Code::invalid_argument,
                 concat("kv_memory of ", worker.kv_bytes, " bytes holds no block of ",
                        pool->layout().block_bytes(), " bytes"),
                 concat("at least ", pool->layout().block_bytes(), " bytes"));
  }
  if (transport) {
    TROUPE_TRY(transport->serve_pool(region, pool->layout().block_bytes(), pool->num_pages()));
  }
  TROUPE_TRY(backend->attach_pool(region));
  TROUPE_ASSIGN(profile, measure_device(*backend, *pool));
  if (const auto folder = setting("TROUPE_STEP_LOG")) {
    TROUPE_ASSIGN(backend,
                  engine::log_steps(backend, region,
                                    concat(*folder, "/", options.name, "-", ::getpid(), ".steps")));
  }
  events = std::make_shared<kv::EventLog>();
  index = std::make_shared<kv::LocalIndex>(*pool, *events);
  engine = std::make_shared<engine::Engine>(*backend, *pool, *index, worker.limits);

  kv::FingerprintParts parts;
  parts.weights_digest = model->weights_digest;
  parts.model_config = cpu::describe(model->config, backend->capabilities().context_max);
  parts.numerics_id = backend->capabilities().numerics_id;
  parts.kv_layout = backend->kv_layout().describe();
  const Digest digest = kv::fingerprint(parts);
  fingerprint.assign(reinterpret_cast<const char*>(digest.data()), digest.size());
  return {};
}

Status Node::Impl::start_worker() {
  auto& system = runtime->system();
  WorkerSetup setup;
  setup.caller = {options.cluster, options.name, runtime->incarnation(), node_handle};
  setup.caller.connect_timeout_ms = static_cast<int>(options.limits.connect_timeout_ms);
  setup.page_lease_us = options.limits.page_lease_ms * 1000;
  setup.node = state;
  if (transport) setup.transport = transport_ports(transport, system);
  setup.pool = pool;
  setup.events = events;
  setup.index = index;
  setup.engine = engine;
  setup.metrics = metrics;
  TROUPE_TRY(make_tokenizer());
  setup.tokenizer = tokenizer;
  setup.fingerprint = fingerprint;
  setup.profile = profile;
  setup.device = system.spawn<caf::detached>(device, backend);
  actors.push_back(caf::actor_cast<caf::strong_actor_ptr>(setup.device));

  auto core = std::make_shared<std::weak_ptr<WorkerCore>>();
  worker_handle = system.spawn(worker, std::move(setup), core);
  close_worker = [core](bool whole_cluster) {
    if (auto alive = core->lock()) alive->logic().close(whole_cluster);
  };
  state->drain_role = [core, handle = worker_handle] {
    auto run = [core] {
      if (auto alive = core->lock()) alive->drain();
    };
    caf::anon_send(handle, Closure{std::make_shared<std::function<void()>>(run)});
  };
  for (const char* role : {"prefill", "decode"}) {
    if (has(role)) state->roles[role] = caf::actor_cast<caf::strong_actor_ptr>(worker_handle);
  }
  actors.push_back(caf::actor_cast<caf::strong_actor_ptr>(worker_handle));
  state->member_listeners.push_back(caf::actor_cast<caf::strong_actor_ptr>(worker_handle));
  return {};
}

}  // namespace troupe::actors
