// The published actor of a process: hands out role handles, keeps the lease, passes on who is
// there. Internal to actors/.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "actors/interfaces.hpp"
#include "actors/resolve.hpp"

namespace troupe::actors {

/// What the node actor knows of its process. Shared with Node, which reads the flags.
struct NodeState {
  std::string cluster;
  std::string manifest_digest;
  std::string directory_host;
  uint16_t directory_port = 0;
  caf::actor connector;  ///< as in Caller
  int connect_timeout_ms = 5'000;
  uint32_t lease_ms = 0;  ///< as the directory says; 0: not heard yet
  v1::NodeInfo info;
  std::map<std::string, caf::strong_actor_ptr> roles;
  /// What is known of a role's loop.
  struct Watched {
    TimeUs moved_us = 0;  ///< when it last said that it moves
    bool asked = false;   ///< and has not answered yet
  };
  std::map<std::string, Watched> watched;
  TimeUs last_tick_us = 0;
  uint64_t pings = 0;
  std::vector<caf::strong_actor_ptr> member_listeners;  ///< want v1::Members (front, worker)
  std::atomic<bool> joined{false};
  std::atomic<bool> worker_known{false};  ///< a router has accepted the worker
  std::function<void()> drain_role;       ///< empty: neither a worker nor a store runs here
  std::atomic<bool> draining{false};      ///< it knows that it drains
  std::atomic<uint32_t> busy{0};          ///< requests and sessions of the worker; what leaves
  std::mutex refusal_mutex;
  std::optional<Error> refusal;       ///< the directory's last word, if it was no
  std::optional<Error> last_failure;  ///< why it was not reached; told only who never joined
  uint64_t members_version = 0;
};

/// The worker or store of this process takes nothing new from now on. Errors: failed_precondition
/// (neither runs here).
Status begin_drain(NodeState& state);

/// Starts to join with the first tick that it is sent.
NodeActor::behavior_type node_actor(NodeActor::pointer self, std::shared_ptr<NodeState> state);

}  // namespace troupe::actors
