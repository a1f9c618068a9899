// The device actor: one GPU or one CPU. It has a thread of its own and runs one plan at a time.
#pragma once

#include <memory>

#include "actors/interfaces.hpp"
#include "engine/backend.hpp"

namespace troupe::actors {

/// Spawn detached: a plan keeps the thread until it is done.
DeviceActor::behavior_type device(DeviceActor::pointer self,
                                  std::shared_ptr<engine::Backend> backend);

}  // namespace troupe::actors
