// Reading the parts of a quantised block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.hpp"

namespace troupe::model {

inline uint32_t byte_at(const std::byte* block, size_t i) {
  return static_cast<uint32_t>(block[i]);
}

inline uint32_t u16_at(const std::byte* at) {
  uint16_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

inline uint32_t u32_at(const std::byte* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// An F16 number.
inline float half_at(const std::byte* at) {
  return half_to_float(static_cast<uint16_t>(u16_at(at)));
}

/// The 4 bits of index `i`, the lower half of a byte first.
inline uint32_t nibble_at(const std::byte* at, size_t i) {
  return (byte_at(at, i / 2) >> (4 * (i % 2))) & 15u;
}

/// An unsigned code as a float after its offset was taken off.
inline float centred(uint32_t value, int offset) {
  return static_cast<float>(static_cast<int>(value) - offset);
}

}  // namespace troupe::model
