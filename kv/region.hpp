// Memory that a pool lives in. The owner (plain memory here, transport/ for memory that peers can
// read) keeps it alive through `keep`.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.hpp"

namespace troupe::kv {

struct Region {
  std::byte* data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<void> keep;
};

/// Page-aligned anonymous memory, zeroed. Errors: exhausted.
Result<Region> allocate_region(size_t bytes);

}  // namespace troupe::kv
