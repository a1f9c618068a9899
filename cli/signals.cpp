#include "cli/signals.hpp"

#include <pthread.h>

#include "launch/end_signals.hpp"

namespace troupe::cli {
namespace {

bool is_hangup_ignored = false;

void note_hangup(int, char**, char**) {
  struct sigaction action {};
  is_hangup_ignored = ::sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// Called before the constructors of shared libraries, and so before UCX takes the signal (System V
/// ABI, DT_PREINIT_ARRAY).
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)(int, char**,
                                                                             char**) = note_hangup;

}  // namespace

sigset_t block_end_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : launch::end_signals()) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

void restore_hangup() {
  std::signal(SIGHUP, is_hangup_ignored ? SIG_IGN : SIG_DFL);
}

}  // namespace troupe::cli
