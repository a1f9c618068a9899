// A process that cannot be mistaken for a later one with the same number.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace troupe::launch {

struct ProcessId {
  pid_t pid = 0;
  uint64_t start_time = 0;  ///< clock ticks since boot
  bool operator==(const ProcessId&) const = default;
};

/// The identity of a running process; nothing if there is none (or only its corpse).
std::optional<ProcessId> process_id(pid_t pid);

/// Whether that very process still runs.
bool is_alive(const ProcessId& id);

/// Sends a signal to that very process and, if it leads one, its process group; false if it is
/// gone.
bool signal_process(const ProcessId& id, int signal, bool is_whole_group);

/// Waits until the process is gone; false if it is still there after the time.
bool wait_gone(const ProcessId& id, int64_t timeout_ms);

}  // namespace troupe::launch
