// Rotary position embedding of one head. Products and their difference are rounded one by one, so
// the plain loop below means the same on every instruction set.
#pragma once

#include <cstdint>

namespace troupe::cpu {

/// Rotates elements [0, dim) of `head` by the angles whose cosines and sines are given: [dim / 2].
/// `neighbours`: pairs (2i, 2i + 1), else (i, i + dim / 2).
template <class Isa>
void rope(float* head, const float* cosine, const float* sine, uint32_t dim, bool neighbours) {
  const uint32_t half = dim / 2;
  if (neighbours) {
    for (uint32_t i = 0; i < half; ++i) {
      const float a = head[2 * i], b = head[2 * i + 1];
      head[2 * i] = a * cosine[i] - b * sine[i];
      head[2 * i + 1] = a * sine[i] + b * cosine[i];
    }
    return;
  }
  for (uint32_t i = 0; i < half; ++i) {
    const float a = head[i], b = head[i + half];
    head[i] = a * cosine[i] - b * sine[i];
    head[i + half] = a * sine[i] + b * cosine[i];
  }
}

}  // namespace troupe::cpu
