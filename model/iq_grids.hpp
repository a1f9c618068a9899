// The code books of ggml's IQ formats. An entry holds the codes of its elements, the first in the
// lowest bits; the tables are generated (scripts/generate-iq-grids).
#pragma once

#include <bit>
#include <cstdint>

namespace troupe::model {

// 8 elements of 2 bits: an index into iq2_magnitudes.
extern const uint16_t iq2_xxs_grid[256];
extern const uint16_t iq2_xs_grid[512];
extern const uint16_t iq2_s_grid[1024];
// 4 elements of 3 bits: an index into the magnitudes of the format.
extern const uint16_t iq3_xxs_grid[256];
extern const uint16_t iq3_s_grid[512];
// 8 elements of 2 bits: the value plus 1.
extern const uint16_t iq1_grid[2048];

inline constexpr float iq2_magnitudes[4] = {8.0f, 25.0f, 43.0f, 0.0f};
inline constexpr float iq3_xxs_magnitudes[8] = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr float iq3_s_magnitudes[8] = {1, 3, 5, 7, 9, 11, 13, 15};

/// 7 stored signs and the eighth, which makes the number of negative elements even. Bit i set:
/// element i is negative.
inline uint32_t eight_signs(uint32_t seven) {
  return seven | ((static_cast<uint32_t>(std::popcount(seven)) & 1u) << 7);
}

}  // namespace troupe::model
