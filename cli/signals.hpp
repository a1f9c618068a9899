// Signals of this program, and what libraries that are loaded before main did to one of them.
#pragma once

#include <csignal>

namespace troupe::cli {

/// Blocks launch::end_signals() in this thread and those that it starts from now on, for sigwait().
sigset_t block_end_signals();

/// UCX catches SIGHUP as soon as it is loaded; this gives it back its meaning from before.
void restore_hangup();

}  // namespace troupe::cli
