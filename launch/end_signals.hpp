// Which signals end a command.
#pragma once

#include <csignal>
#include <vector>

namespace troupe::launch {

/// SIGINT, SIGTERM, and SIGHUP unless this process ignores it, as under nohup.
inline std::vector<int> end_signals() {
  std::vector<int> signals = {SIGINT, SIGTERM};
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) signals.push_back(SIGHUP);
  return signals;
}

}  // namespace troupe::launch
