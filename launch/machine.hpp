// What this machine has, and whether a plan fits into it.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "launch/manifest.hpp"
#include "launch/plan.hpp"

namespace troupe::launch {

struct Machine {
  uint64_t memory_bytes = 0;  ///< physical, or the control group's limit if that is less
  uint64_t shared_bytes = 0;  ///< free in /dev/shm
};

/// 0 where something could not be found out: then nothing is refused for it.
Machine this_machine();

/// Refuses a plan whose memory for blocks and drafts and whose weights are more than the machine
/// has, or whose blocks are more than shared memory holds while TCP is off; says the numbers and
/// the field. What fits less well becomes a note of the plan.
Status check_memory(const Manifest& manifest, const Machine& machine, LaunchPlan& plan);

}  // namespace troupe::launch
