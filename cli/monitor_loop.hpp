// The loops behind a monitor's screen: paint, wait for a key, look whether the cluster is still
// there.
#pragma once

#include <string>

#include "base/result.hpp"
#include "cli/monitor_feed.hpp"

namespace troupe::cli {

/// Until the user quits or a signal comes. `recording`: a file's name, or empty; with it and
/// without a terminal there is no screen. Errors: unavailable when the cluster went away or the
/// recording can't be written, failed_precondition without a terminal. The terminal is as it was
/// when this returns.
Status run_live(LiveFeed& feed, const std::string& cluster, const std::string& recording);

/// The same for a recording, which stays on the screen at its end.
Status run_replay(ReplayFeed& feed, const std::string& path, double speed);

}  // namespace troupe::cli
