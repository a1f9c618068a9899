// The draft actor: a shell around DraftDesk. Internal to actors/.
#pragma once

#include <memory>

#include "actors/draft_desk.hpp"
#include "actors/interfaces.hpp"
#include "actors/metrics.hpp"

namespace troupe::actors {

/// Keeps an index of at most `index_bytes_max`, and counts in `metrics`.
DraftActor::behavior_type draft(DraftActor::pointer self, size_t index_bytes_max,
                                std::shared_ptr<Metrics> metrics);

}  // namespace troupe::actors
