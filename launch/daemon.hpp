// Turning into a process that outlives the terminal.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "base/result.hpp"

namespace troupe::launch {

/// Runs `body` in a new process of a session of its own, whose parent is init, whose standard
/// output and error go to `log_file`, and which keeps no descriptor open but those in `kept`; its
/// exit status is what `body` returns. The caller must have one thread (a fork copies no other, and
/// their locks stay locked); failed_precondition otherwise.
Status start_daemon(const std::filesystem::path& log_file, const std::vector<int>& kept,
                    const std::function<int()>& body);

}  // namespace troupe::launch
