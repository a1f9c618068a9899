// What files that only cpu/ reads may ask for. A file beyond a limit is refused.
#pragma once

#include <cstdint>

namespace troupe::cpu::limits {

inline constexpr uint64_t pack_matrices_max = 4'194'304;  ///< matrices in a pack

}  // namespace troupe::cpu::limits
