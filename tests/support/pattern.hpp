// Bytes that look random and are the same in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::testing {

/// The upper bytes of a linear congruential sequence (Numerical Recipes' constants).
inline std::vector<std::byte> pattern(size_t size, uint32_t seed) {
  std::vector<std::byte> data(size);
  for (std::byte& byte : data) {
    seed = seed * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(seed >> 24);
  }
  return data;
}

}  // namespace troupe::testing
