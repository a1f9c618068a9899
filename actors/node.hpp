// One process of a cluster: it holds the roles that the manifest gives it, joins the directory and
// keeps its lease. No CAF in this header.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/limits.hpp"
#include "actors/runtime.hpp"
#include "base/result.hpp"
#include "cpu/cpu_backend.hpp"
#include "engine/engine.hpp"

namespace troupe::actors {

/// What a process with the role prefill or decode needs.
struct WorkerOptions {
  cpu::ComputeMode compute = cpu::ComputeMode::fast;
  kv::KvTypes kv_types;
  int threads = 0;               ///< 0: all cores
  size_t kv_bytes = 256u << 20;  ///< size of the KV pool
  uint32_t context_max = 0;      ///< 0: the model's
  engine::EngineLimits limits;
  std::string data_address = "127.0.0.1";
  bool shared_memory = true;
  bool tcp = true;
  /// Makes another device than the CPU; null: the CPU. It sees the model's tokens, not its weights.
  std::function<std::shared_ptr<engine::Backend>()> make_backend;
};

/// What a manifest limits for every process of its cluster; the defaults are the manifest's.
struct ClusterLimits {
  uint32_t output_tokens_max = 16384;
  int64_t request_timeout_ms = 600'000;
  int64_t lease_ms = 5'000;
  int64_t connect_timeout_ms = 5'000;
  int64_t drain_timeout_ms = 30'000;
  int64_t page_lease_ms = 30'000;
};

struct NodeOptions {
  std::string cluster = "troupe";
  std::string name = "node";
  std::vector<std::string> roles;  ///< directory, router, front, prefill, decode, draft, kv_store
  std::string host = "127.0.0.1";  ///< address that the port binds to
  uint16_t port = 0;               ///< 0: the system chooses
  TlsFiles tls;                    ///< empty: no network, everything in this process
  /// For front: what tenants' blocks are named after. For prefill, decode and kv_store: what opens
  /// their data ports to each other; empty: to this process alone.
  std::string salt_secret;
  std::string manifest_digest;
  std::string directory_host;  ///< ignored when this node is the directory
  uint16_t directory_port = 0;
  std::string model_path;  ///< for front, prefill and decode
  std::string model_name;
  size_t draft_bytes = limits::draft_bytes_default;  ///< index of the draft role
  uint32_t prefill_blocks_min = 1;  ///< uncached blocks that make a prefill worker worth it
  ClusterLimits limits;
  WorkerOptions worker;
  /// Memory for the blocks of a kv_store; its data network and paths are those of `worker`.
  size_t store_bytes = size_t{1} << 30;
  /// Its disk: a folder of its own and what it may take; 0: none.
  std::string store_path;
  uint64_t store_disk_bytes = 0;
};

class Node {
 public:
  /// Loads what the roles need and starts them; returns when the node is published. Errors: what
  /// the model, the pool, the port or a certificate is refused for.
  static Result<std::unique_ptr<Node>> start(const NodeOptions& options);
  /// Tells every actor to go and waits for them.
  ~Node();

  /// From now on it takes no new work; what runs moves to other workers or ends here. A store
  /// writes to its disk what it has in memory, and hands it over to another store if there is one.
  /// Waits until nothing is left (true) or the time is over; may be called again.
  bool drain(int64_t timeout_ms);
  /// Of that only the writing.
  bool flush(int64_t timeout_ms);
  /// The whole cluster is being stopped: everyone who waits here or asks the directory is told.
  /// Returns when they had the time to hear it.
  void announce_end();

  /// The port that it is published on; 0 without a network.
  [[nodiscard]] uint16_t port() const;
  /// True once the directory has accepted it and, for a worker, a router has.
  [[nodiscard]] bool joined() const;
  /// Waits until joined(). Errors: timeout says what is missing; what the directory refuses the
  /// node for comes at once.
  Status wait_joined(int timeout_ms);
  /// Resident facts for people: instruction set, threads, pool, transport.
  [[nodiscard]] std::string describe() const;

  struct Impl;
  [[nodiscard]] Impl& impl() { return *impl_; }

 private:
  Node();
  std::unique_ptr<Impl> impl_;
};

}  // namespace troupe::actors
