// The 6-bit scales and minima of Q4_K and Q5_K blocks.
#pragma once

#include "model/block_bytes.hpp"

namespace troupe::model {

struct ScaleAndMinimum {
  float scale = 0.0f;
  float minimum = 0.0f;
};

/// Entry `i` of the 8 pairs that are packed in 12 bytes: the first four of both kinds whole in
/// bytes 0 to 7, the others in halves of bytes 8 to 11 with their upper two bits on top of the
/// first four.
inline ScaleAndMinimum scale_and_minimum(const std::byte* packed, size_t i) {
  uint32_t scale, minimum;
  if (i < 4) {
    scale = byte_at(packed, i) & 63u;
    minimum = byte_at(packed, i + 4) & 63u;
  } else {
    scale = (byte_at(packed, i + 4) & 15u) | (byte_at(packed, i - 4) >> 6 << 4);
    minimum = (byte_at(packed, i + 4) >> 4) | (byte_at(packed, i) >> 6 << 4);
  }
  return {static_cast<float>(scale), static_cast<float>(minimum)};
}

}  // namespace troupe::model
