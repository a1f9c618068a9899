// One simulated run: the whole cast in one process, in an order that a seed decides, on virtual
// time, with faults; then without faults until everything is finished. No CAF.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.hpp"

namespace troupe::sim {

struct RunReport {
  uint64_t seed = 0;
  uint64_t events = 0;    ///< messages handled by actors, and events of the simulated world
  uint64_t messages = 0;  ///< over the wire
  TimeUs virtual_us = 0;
  uint64_t trace_hash = 0;  ///< of every choice that was made
  uint32_t requests = 0, completed = 0, cancelled = 0, failed = 0, abandoned = 0;
  uint32_t attempts = 0;
  uint32_t faults = 0;
  uint64_t reads = 0, reads_failed = 0;
  uint64_t accepted = 0;   ///< drafted tokens that were right
  uint64_t fetched = 0;    ///< blocks that workers read from stores
  uint64_t from_disk = 0;  ///< blocks that stores read from their disks
  TimeUs slowest_us = 0;   ///< from the start of a request that completed to its end
  uint64_t moved = 0;      ///< choices that a worker sent elsewhere
  std::string violation;   ///< empty: every invariant held
};

/// With `trace`, everything that happens is told on stderr.
RunReport run_seed(uint64_t seed, bool trace);

/// A run in which workers hear nothing of clients for a while: these stand still, or what they say
/// does not arrive. Their work must be given up in time, and be finished when they are back.
RunReport run_silence(uint64_t seed, bool stand_still, bool trace);

/// A run in which a router and a front stand still, or only the loops of these roles do while their
/// processes renew their leases; others of their kind are there.
RunReport run_standing(uint64_t seed, bool whole_process, bool trace);

}  // namespace troupe::sim
