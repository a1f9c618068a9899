// Whether a step plan can be computed at all: a bad plan is an error, never a bad access.
#pragma once

#include "base/result.hpp"
#include "engine/backend.hpp"
#include "engine/step_plan.hpp"
#include "kv/layout.hpp"

namespace troupe::cpu {

/// Errors: invalid_argument, naming the sequence, the value and the legal range; exhausted (more
/// tokens than a step may have).
Status check_plan(const engine::StepPlan& plan, const engine::Capabilities& capabilities,
                  const kv::KvLayout& layout, uint32_t num_pages);

}  // namespace troupe::cpu
