// Builds a store: its memory, its transport, then the actor. Pages are served once the first offer
// has said how large they are.
#include <algorithm>
#include <cstring>
#include <utility>

#include "actors/data_key.hpp"
#include "actors/kv_store.hpp"
#include "actors/node_impl.hpp"
#include "base/clock.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"

namespace troupe::actors {
namespace {

/// What reading a block costs at best: one copy between memory that is not in a cache.
double measure_copy(const kv::Region& region) {
  const size_t half = std::min<size_t>(region.bytes / 2, size_t{32} << 20);
  std::memset(region.data, 1, 2 * half);
  const TimeUs start = now_us();
  std::memcpy(region.data, region.data + half, half);
  const auto us = static_cast<double>(std::max<TimeUs>(now_us() - start, 1));
  std::memset(region.data, 0, 2 * half);
  return static_cast<double>(half) / us;
}

}  // namespace

Status Node::Impl::make_store_parts(uint64_t incarnation) {
  transport::TransportOptions moving;
  moving.data_address = options.worker.data_address;
  moving.shared_memory = options.worker.shared_memory;
  moving.tcp = options.worker.tcp;
  moving.incarnation = incarnation;
  moving.key = data_key(options.salt_secret);
  moving.connect_timeout_us = options.limits.connect_timeout_ms * 1000;
  TROUPE_ASSIGN(transport, transport::Transport::start(moving));
  TROUPE_ASSIGN(store_region, transport->allocate(options.store_bytes));
  copy_bytes_per_us = measure_copy(store_region);
  return options.store_disk_bytes > 0 ? open_store_disk() : Status();
}

Status Node::Impl::open_store_disk() {
  TROUPE_ASSIGN(auto folder, kv::DiskFolder::open(options.store_path, kv::DiskFolder::Use::own));
  const TimeUs start = now_us();
  TROUPE_ASSIGN(store_found, folder->find_all());
  size_t blocks = 0;
  for (const kv::FoundSegment& segment : store_found) blocks += segment.rows.size();
  log_info("store", concat("found ", blocks, " blocks in ", store_found.size(), " segments of ",
                           options.store_path, " in ", (now_us() - start) / 1000, " ms"));
  store_disk = std::make_shared<kv::DiskThreads>(std::move(folder));
  return {};
}

bool Node::Impl::flush_store() {
  if (!store_flush->is_wanted.exchange(true)) {
    // It looks after every message.
    caf::anon_send(store_handle, Closure{std::make_shared<std::function<void()>>([] {})});
  }
  return store_flush->is_done;
}

Status Node::Impl::start_store() {
  StoreSetup setup;
  setup.caller = {options.cluster, options.name, runtime->incarnation(), node_handle};
  setup.caller.connect_timeout_ms = static_cast<int>(options.limits.connect_timeout_ms);
  setup.node = state;
  setup.transport = transport_ports(transport, runtime->system());
  setup.serve = [transport = transport, region = store_region](
                    size_t block_bytes, uint32_t num_pages) -> Result<std::string> {
    TROUPE_TRY(transport->serve_pool(region, block_bytes, num_pages));
    return transport->address();
  };
  setup.region = store_region;
  setup.copy_bytes_per_us = copy_bytes_per_us;
  setup.metrics = metrics;
  if (store_disk) {
    setup.disk.bytes_max = options.store_disk_bytes;
    setup.disk.found = std::exchange(store_found, {});
    setup.disk.submit = [disk = std::weak_ptr(store_disk)](kv::DiskJob job,
                                                           kv::DiskThreads::Done done) {
      if (const auto alive = disk.lock()) alive->submit(std::move(job), std::move(done));
    };
  }
  setup.flush = store_flush = std::make_shared<StoreFlush>();
  auto core = std::make_shared<std::weak_ptr<StoreCore>>();
  auto handle = runtime->system().spawn(kv_store, std::move(setup), core);
  store_handle = handle;
  state->drain_role = [core, handle] {
    auto leave = [core] {
      if (auto alive = core->lock()) alive->leave();
    };
    caf::anon_send(handle, Closure{std::make_shared<std::function<void()>>(leave)});
  };
  add_role("kv_store", handle);
  state->member_listeners.push_back(caf::actor_cast<caf::strong_actor_ptr>(handle));
  return {};
}

}  // namespace troupe::actors
