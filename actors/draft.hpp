// The draft actor: a shell around DraftDesk. Internal to actors/.
#pragma once

#include "actors/draft_desk.hpp"
#include "actors/interfaces.hpp"

namespace troupe::actors {

/// Keeps an index of at most `index_bytes_max`.
DraftActor::behavior_type draft(DraftActor::pointer self, size_t index_bytes_max);

}  // namespace troupe::actors
