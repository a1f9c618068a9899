// Which signals end a command.
#pragma once

#include <csignal>
#include <vector>

namespace troupe::launch {

/// Whether this process ignores the signal, as SIGHUP under nohup.
inline bool is_ignored(int number) {
  struct sigaction now {};
  ::sigaction(number, nullptr, &now);
  return now.sa_handler == SIG_IGN;
}

/// SIGINT, SIGTERM, and SIGHUP unless it is ignored.
inline std::vector<int> end_signals() {
  std::vector<int> signals = {SIGINT, SIGTERM};
  if (!is_ignored(SIGHUP)) signals.push_back(SIGHUP);
  return signals;
}

}  // namespace troupe::launch
