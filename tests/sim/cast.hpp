// The real actors of one process, on simulated devices, reads, wire and clock.
#pragma once

#include <caf/all.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/client_actor.hpp"
#include "actors/kv_store.hpp"
#include "actors/metrics_subscriber.hpp"
#include "actors/node_actor.hpp"
#include "actors/router.hpp"
#include "actors/worker.hpp"
#include "engine/sim_backend.hpp"
#include "tests/sim/fabric.hpp"
#include "tests/sim/plan.hpp"
#include "tests/sim/reads.hpp"
#include "tests/support/sim_disk.hpp"

namespace troupe::sim {

/// The disks of the run's stores, by slot: they outlive the processes.
struct SlotDisk {
  explicit SlotDisk(uint64_t seed) : random(seed) {}
  testing::SimDisk disk;
  Random random;  ///< of its own, so that a disk changes nothing else
  TimeUs busy_until = 0;
};
using Disks = std::map<size_t, SlotDisk>;

/// What every process of a run stands on.
struct Stage {
  caf::actor_system& system;
  Events& events;
  Random& random;
  Links& links;
  Reads& reads;
  Fabric& fabric;
  const Plan& plan;
  double device_slowness = 1;
  Disks disks{};
  bool disks_fail = true;  ///< now and then
};

/// A worker's parts; they outlive its actor, for reads that come late.
struct WorkerRig {
  WorkerRig(const NodePlan& plan);

  /// Empty, or what does not add up.
  [[nodiscard]] std::string check() const;

  std::shared_ptr<engine::SimBackend> backend;
  std::shared_ptr<kv::Pool> pool;
  std::shared_ptr<kv::EventLog> events;
  std::shared_ptr<kv::LocalIndex> index;
  std::shared_ptr<engine::Engine> engine;
  std::shared_ptr<std::weak_ptr<actors::WorkerCore>> core;
};

/// A store's memory; it outlives its actor, for reads that come late.
struct StoreRig {
  explicit StoreRig(const NodePlan& plan);

  size_t block_bytes = 0;
  kv::Region region;
};

/// What a monitor has of each node, by incarnation.
using WatchedNodes = std::map<uint64_t, actors::NodeMetrics>;

/// One process, from its start to its death.
class Life {
 public:
  /// Starts the actors of the place. `connect_node` finds the node actor of another place.
  Life(Stage& stage, size_t slot);

  /// Tells every actor to go; run their jobs until none is left.
  void kill();
  /// As SIGTERM does, shortly before kill().
  void close();
  void on_client(std::function<void(actors::ClientCore&)> run);
  /// Empty, or what a worker still computes.
  [[nodiscard]] std::string still_running() const;
  /// Empty, or what a worker still holds though nobody wants anything from it.
  [[nodiscard]] std::string left_over() const;
  [[nodiscard]] actors::RouterState* router() const;
  /// As it tells the directory.
  [[nodiscard]] std::string health() const;
  /// The actors that it hands out, by their ids.
  [[nodiscard]] std::vector<uint64_t> role_actors() const;
  [[nodiscard]] actors::StoreCore* store() const;
  /// Empty, or what does not add up in its memory.
  [[nodiscard]] std::string check() const;
  [[nodiscard]] const actors::Metrics& metrics() const { return *metrics_; }
  [[nodiscard]] uint64_t incarnation() const { return incarnation_; }
  [[nodiscard]] const WatchedNodes& watched() const { return *watched_; }
  /// The actor that answers hellos; empty for an application.
  [[nodiscard]] caf::strong_actor_ptr node() const { return node_; }

  const LifeId id;
  const size_t slot;
  const NodePlan& plan;
  std::unique_ptr<WorkerRig> worker;
  std::unique_ptr<StoreRig> store_rig;
  bool dead = false;

 private:
  void start_client(const actors::Caller& caller, uint16_t directory_port);
  void start_monitor(const actors::Caller& caller, uint16_t directory_port);
  void start_node(actors::Caller caller, uint16_t directory_port);
  void start_roles(const actors::Caller& caller);
  void start_worker(const actors::Caller& caller);
  void start_store(const actors::Caller& caller);
  actors::StoreDiskSetup start_disk();
  void start_draft();
  [[nodiscard]] std::string left_in_worker() const;
  [[nodiscard]] std::string left_in_store() const;
  void add(const char* role, caf::strong_actor_ptr actor);
  caf::strong_actor_ptr keep(caf::strong_actor_ptr actor);

  Stage& stage_;
  std::shared_ptr<actors::NodeState> state_;
  std::vector<caf::strong_actor_ptr> actors_;
  caf::strong_actor_ptr node_;
  caf::strong_actor_ptr router_;
  caf::strong_actor_ptr store_;
  std::shared_ptr<actors::Metrics> metrics_ = std::make_shared<actors::Metrics>();
  std::shared_ptr<WatchedNodes> watched_ = std::make_shared<WatchedNodes>();
  uint64_t incarnation_ = 0;
  actors::WorkerActor worker_actor_;
  actors::ClientActor client_;
  std::shared_ptr<actors::ClientCore*> client_core_;
};

/// Answers as CAF's middleman: asks `connect` for what is published at an address.
using Connect = std::function<void(const std::string& host, uint16_t port,
                                   std::function<void(Result<caf::strong_actor_ptr>)>)>;
caf::behavior connector(caf::event_based_actor* self, Connect connect);

/// What all workers and stores say that their blocks are interchangeable with.
const std::string& fingerprint();

/// Addresses of the simulated network.
inline constexpr uint16_t first_port = 1000;
inline constexpr const char* cluster_name = "sim";

}  // namespace troupe::sim
