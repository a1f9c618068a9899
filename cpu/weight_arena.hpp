// Memory for packed weights: a few large mappings on huge pages where the system has them, because
// decode reads all weights for each token and would otherwise miss the TLB on every page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "kv/region.hpp"

namespace troupe::cpu {

class WeightArena {
 public:
  /// `bytes` of zeroed memory on a cache line's boundary; lives as long as the arena.
  /// Errors: exhausted.
  Result<uint8_t*> take(size_t bytes);

 private:
  std::vector<kv::Region> regions_;
  size_t used_ = 0;  ///< bytes of the last region
};

}  // namespace troupe::cpu
