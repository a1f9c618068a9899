// What a seed stands for: the processes of a cluster, its clients' requests, and what goes wrong
// when. No CAF.
#pragma once

#include <string>
#include <vector>

#include "actors/client.hpp"
#include "tests/sim/events.hpp"
#include "tests/sim/random.hpp"

namespace troupe::sim {

/// A place in the cluster; its process may die and start again.
struct NodePlan {
  std::string name;
  std::vector<std::string> roles;  ///< empty: an application with a client
  uint32_t pages = 0;              ///< of a worker's pool or a store
  bool lies = false;               ///< a draft actor that says whatever comes to its mind
  TimeUs step_us = 0;              ///< a worker's time for one step
  TimeUs start_us = 0;

  [[nodiscard]] bool has(const std::string& role) const;
  [[nodiscard]] bool is_client() const { return roles.empty(); }
  /// Watches; nobody knows it.
  [[nodiscard]] bool is_monitor() const { return has("monitor"); }
  /// Not drawn, so that what a seed stands for stays what it was.
  [[nodiscard]] bool has_disk() const { return has("kv_store") && pages % 4 != 0; }
  [[nodiscard]] bool works() const { return has("prefill") || has("decode"); }
};

struct RequestPlan {
  size_t client = 0;  ///< slot
  TimeUs at_us = 0;
  TimeUs cancel_us = 0;  ///< 0: never
  actors::GenerateRequest request;
};

enum class FaultKind : uint8_t {
  kill,         ///< the process dies, its peers are told by the kernel
  vanish,       ///< its host dies, nobody is told
  stop,         ///< it is asked to go, and goes
  pause,        ///< SIGSTOP, SIGCONT
  partition,    ///< two places do not reach one another
  one_way,      ///< one does not reach the other
  isolate,      ///< one place reaches nobody
  reset,        ///< the connections of two places break
  slow_wire,    ///< everything takes longer on the wire
  slow_device,  ///< a worker's steps take longer
  drain,        ///< a client asks it to drain; later it goes and starts again
  hang,         ///< the loops of its roles stand, though the process renews its lease
};
const char* name(FaultKind kind);

struct FaultPlan {
  FaultKind kind = FaultKind::kill;
  TimeUs at_us = 0;
  TimeUs duration_us = 0;  ///< until it is over, or the process starts again
  size_t slot = 0;
  size_t other = 0;
  double factor = 1;
};

struct Plan {
  std::vector<NodePlan> nodes;
  std::vector<RequestPlan> requests;
  std::vector<FaultPlan> faults;
  bool duplicates = false;
  uint32_t memory_tokens = 0;     ///< what the device's draws depend on; 0: all tokens
  std::vector<uint32_t> windows;  ///< of the devices' layer groups besides the first
  double read_fail = 0, read_wrong = 0, read_silent = 0;
  TimeUs faults_end_us = 0;       ///< from then on nothing goes wrong and everything must finish
  TimeUs silence_us = 0;          ///< since then no client is heard until the faults end; 0: not so
  bool connections_stay = false;  ///< the actors themselves must notice a silence

  /// One line an item, for people.
  [[nodiscard]] std::string describe() const;
};

Plan make_plan(Random& random);

/// A cluster in which only one thing goes wrong: in the middle of long requests all clients stand
/// still (pause), or nothing that they say arrives (one_way), for longer than workers wait for
/// them.
Plan make_silence(Random& random, FaultKind kind);

/// A cluster with two routers and two fronts, the first of each stands (pause, hang) for longer
/// than a request is waited for; requests come meanwhile.
Plan make_standing(Random& random, FaultKind kind);

}  // namespace troupe::sim
