// The directory actor: a thin shell over DirectoryState.
#pragma once

#include <memory>
#include <string>

#include "actors/directory_state.hpp"
#include "actors/interfaces.hpp"

namespace troupe::actors {

DirectoryActor::behavior_type directory(DirectoryActor::pointer self,
                                        std::shared_ptr<DirectoryState> state);

}  // namespace troupe::actors
