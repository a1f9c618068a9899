// What a Node is made of. Internal to actors/.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/directory_state.hpp"
#include "actors/interfaces.hpp"
#include "actors/kv_store.hpp"
#include "actors/metrics.hpp"
#include "actors/node.hpp"
#include "actors/node_actor.hpp"
#include "actors/worker.hpp"
#include "kv/disk_threads.hpp"

namespace troupe::actors {

struct Node::Impl {
  ~Impl();

  NodeOptions options;
  std::shared_ptr<const model::Model> model;
  std::shared_ptr<const cpu::PackFile> pack;  ///< of the model's weights, until they are loaded
  std::shared_ptr<const text::Tokenizer> tokenizer;  ///< null: the model has none, or nobody asked

  // A worker's parts, in the order in which they depend on one another.
  std::shared_ptr<transport::Transport> transport;
  std::shared_ptr<engine::Backend> backend;
  std::shared_ptr<kv::Pool> pool;
  std::shared_ptr<kv::EventLog> events;
  std::shared_ptr<kv::LocalIndex> index;
  std::shared_ptr<engine::Engine> engine;
  std::string fingerprint;
  v1::DeviceProfile profile;

  std::shared_ptr<Metrics> metrics = std::make_shared<Metrics>();
  // A store's: the transport above, and this.
  kv::Region store_region;
  std::shared_ptr<kv::DiskThreads> store_disk;  ///< empty: it has none
  std::vector<kv::FoundSegment> store_found;
  std::shared_ptr<StoreFlush> store_flush;  ///< empty: no store runs here
  KvStoreActor store_handle;
  double copy_bytes_per_us = 0;

  std::shared_ptr<NodeState> state;
  std::unique_ptr<Runtime> runtime;
  NodeActor node_handle;
  WorkerActor worker_handle;
  std::function<void(bool whole_cluster)> close_worker;
  std::shared_ptr<DirectoryState> directory_state;
  DirectoryActor directory_handle;
  std::vector<caf::strong_actor_ptr> actors;
  uint16_t own_port = 0;

  [[nodiscard]] bool has(const char* role) const;
  [[nodiscard]] std::string describe() const;
  Status make_worker_parts(uint64_t incarnation, bool networked);
  /// Makes the tokenizer that front and worker share.
  Status make_tokenizer();
  Status start_worker();
  Status make_store_parts(uint64_t incarnation);
  Status open_store_disk();
  /// The store of this process writes out what it has; true when it did.
  bool flush_store();
  Status start_store();
  Status start_roles();
  Status publish();

  /// Runs on the worker's own thread.
  void post_to_worker(std::function<void()> run) {
    caf::anon_send(worker_handle, Closure{std::make_shared<std::function<void()>>(std::move(run))});
  }

  template <class Handle>
  void add_role(const char* role, const Handle& handle) {
    auto pointer = caf::actor_cast<caf::strong_actor_ptr>(handle);
    state->roles[role] = pointer;
    actors.push_back(pointer);
  }
};

}  // namespace troupe::actors
