// A backend that writes down what another one computes (step_log.hpp): to find where two runs part.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "engine/backend.hpp"

namespace troupe::engine {

/// `inner`, whose pool lies in `region`, with a log in a new file at `path` (mode 0600, never
/// overwritten). Costs a checksum for
/// each full KV block, a line for each token, and in each step a hash over its sequences' tokens.
/// Errors: the file can't be made. A log that cannot be written further ends with a warning;
/// computing goes on.
Result<std::shared_ptr<Backend>> log_steps(std::shared_ptr<Backend> inner, kv::Region region,
                                           const std::string& path);

}  // namespace troupe::engine
