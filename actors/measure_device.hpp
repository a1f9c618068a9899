// Measures what a device does in how many microseconds, so that the router predicts and does not
// guess. No CAF.
#pragma once

#include "base/result.hpp"
#include "engine/backend.hpp"
#include "kv/pool.hpp"
#include "schemas/cluster.pb.h"

namespace troupe::actors {

/// Runs a few plans on pages of the pool (all free again afterwards). Errors: what the backend
/// says.
Result<v1::DeviceProfile> measure_device(engine::Backend& backend, kv::Pool& pool);

}  // namespace troupe::actors
