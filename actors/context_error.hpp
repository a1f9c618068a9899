// How a prompt that does not fit into the context is refused, and how that refusal is known again:
// an error has no field for it.
#pragma once

#include <cstdint>

#include "base/result.hpp"

namespace troupe::actors {

/// `what` has both sizes.
Error context_exceeded(size_t prompt_tokens, uint32_t context_max);

}  // namespace troupe::actors
