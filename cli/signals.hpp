// Which signals end a command, and what libraries that are loaded before main did to them.
#pragma once

#include <csignal>
#include <vector>

namespace troupe::cli {

/// SIGINT, SIGTERM, and SIGHUP unless whoever started us has it ignored (nohup).
const std::vector<int>& end_signals();

/// Blocks end_signals() in this thread and those that it starts from now on, for sigwait().
sigset_t block_end_signals();

/// UCX catches SIGHUP as soon as it is loaded; this gives it back its meaning from before.
void restore_hangup();

}  // namespace troupe::cli
