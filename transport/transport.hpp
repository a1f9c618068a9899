// Moves KV blocks between processes: the receiver reads pages of a peer's pool into its own
// (docs: transfer sessions). Nobody ever writes memory that it does not own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kv/layout.hpp"
#include "kv/region.hpp"
#include "transport/environment.hpp"

namespace troupe::transport {

struct TransportOptions {
  /// TCP binds to the network device that carries this address.
  std::string data_address = "127.0.0.1";
  /// Paths that may be used; UCX_TLS in the user's environment restricts them further.
  bool shared_memory = true;
  bool tcp = true;
  /// What every process has that may open a connection to another's data port, and nobody else;
  /// empty: a random one, so that only transports of one process reach each other over TCP.
  std::string key;
  /// Random per process start; 0: start() draws one.
  uint64_t incarnation = 0;
  /// Every read ends within this time (and a grace of two seconds), whoever dies.
  TimeUs read_timeout_us = 10'000'000;
  /// connect() waits at most this long for a peer.
  TimeUs connect_timeout_us = 5'000'000;
};

using PeerId = uint64_t;

enum class PathPreference : uint8_t { automatic, shared_memory, tcp };
enum class Path : uint8_t { same_process, shared_memory, tcp };
/// "same_process", "shared_memory" or "tcp".
const char* name(Path path);

struct ReadRequest {
  uint64_t session_token = 0;
  kv::PageId remote_page = kv::no_page;
  kv::PageId local_page = kv::no_page;  ///< in the pool given to serve_pool; ours until done
  uint32_t checksum = 0;                ///< CRC-32C that the page's bytes must have
};

struct ReadDone {
  Path path = Path::tcp;
  uint64_t bytes = 0;
  TimeUs duration_us = 0;  ///< from the call of read()
};

/// Called exactly once, on the UCX thread, when the local page is no longer written: with
/// - corrupt: the bytes do not have the checksum (the page holds what came);
/// - unavailable: the peer is gone or its link failed;
/// - failed_precondition: the peer refused (session not granted, restarted, other pool);
/// - cancelled, timeout, exhausted (too many reads), invalid_argument (pages, peer).
/// It may call read(), cancel_session(), grant(), revoke() and disconnect(), not connect().
using ReadCallback = std::function<void(Result<ReadDone>)>;

/// Counters since start.
struct TransportStats {
  uint64_t reads_started = 0;
  uint64_t reads_done = 0;
  uint64_t reads_failed = 0;  ///< all failures, the next three included
  uint64_t checksum_failures = 0;
  uint64_t reads_timed_out = 0;
  uint64_t reads_cancelled = 0;
  uint64_t bytes_same_process = 0;
  uint64_t bytes_shared_memory = 0;
  uint64_t bytes_tcp = 0;
  uint64_t blocks_served = 0;  ///< over TCP; direct reads leave no trace at the source
  uint64_t bytes_served = 0;
  uint64_t wants_refused = 0;
  uint64_t frames_dropped = 0;       ///< malformed, misdirected, late
  uint64_t peers_lost = 0;           ///< endpoints that UCX reported as failed
  uint64_t connections_refused = 0;  ///< at the data port: strangers, replays (data_port.hpp)
  uint64_t reads_in_progress = 0;
  uint64_t grants = 0;  ///< sessions with granted pages now
};

/// Thread-safe. One per process; start it before other threads read the environment (UCX is
/// configured by setenv).
class Transport {
 public:
  /// Errors: invalid_argument (no path is allowed, with the user's UCX_TLS), not_found
  /// (data_address is not an address of this host), internal (UCX).
  static Result<std::unique_ptr<Transport>> start(TransportOptions options);
  /// Ends all reads with `cancelled` (their callbacks are called), then closes everything.
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// Memory for a pool: shared memory that peers on this host read directly; if that is not to be
  /// had, plain memory and a warning: peers then use TCP. May outlive the Transport.
  Result<kv::Region> allocate(size_t bytes);

  /// Makes `region`'s pages [0, num_pages) of `block_bytes` readable for peers, and the place
  /// where reads go. Once, before address(), connect() and read(); keeps the region.
  Status serve_pool(const kv::Region& region, size_t block_bytes, uint32_t num_pages);

  /// What peers pass to connect(): at most 4 KiB, opaque.
  [[nodiscard]] std::string address() const;
  [[nodiscard]] uint64_t incarnation() const;

  /// Prepares reads from the process that `address` describes; waits for connect_timeout_us (a
  /// direct path is tried out). Errors: corrupt (damaged address), failed_precondition (block sizes
  /// differ, no pool on one side, called from a callback), unsupported (no common path),
  /// unavailable.
  Result<PeerId> connect(std::string_view address,
                         PathPreference preference = PathPreference::automatic);
  /// name(Path) of a connected peer; empty if there is none of this id.
  [[nodiscard]] std::string_view path(PeerId peer) const;

  /// Reads one page. `done` is called exactly once, also for bad arguments.
  void read(PeerId peer, const ReadRequest& request, ReadCallback done);
  /// All reads of the session end with `cancelled` within two seconds.
  void cancel_session(uint64_t token);
  /// Its reads end with `cancelled`; the id is not used again.
  void disconnect(PeerId peer);

  /// The source's side: the session may read the page. Takes effect before it returns, so it may
  /// be announced afterwards.
  void grant(uint64_t token, kv::PageId page);
  /// The session may read nothing any more.
  void revoke(uint64_t token);
  /// Nor this page, which may then be given to others.
  void revoke_page(uint64_t token, kv::PageId page);

  [[nodiscard]] TransportStats stats() const;

 private:
  class Core;
  explicit Transport(std::shared_ptr<Core> core);

  std::shared_ptr<Core> core_;
};

}  // namespace troupe::transport
