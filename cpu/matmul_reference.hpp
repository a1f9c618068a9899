// The plain reading of docs/numerics.md section 2, straight from the stored rows: what the tests
// hold every kernel to.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/half.hpp"
#include "cpu/matmul.hpp"

namespace troupe::cpu::reference {

inline float stored_half(const std::byte* p) {
  uint16_t bits;
  std::memcpy(&bits, p, sizeof bits);
  return half_to_float(bits);
}

/// One block of 32 of a Q4_0 row (18 bytes: d, 16 bytes of nibbles).
inline float add_q4_0_block(const std::byte* block, const QuantizedBlock& x, float acc) {
  int32_t isum = 0;
  for (uint32_t i = 0; i < 16; ++i) {
    const auto byte = static_cast<int32_t>(block[2 + i]);
    isum += ((byte & 15) - 8) * x.values[i] + ((byte >> 4) - 8) * x.values[i + 16];
  }
  return std::fma(static_cast<float>(isum), stored_half(block) * x.scale, acc);
}

/// One block of 32 of a Q4_1 row (20 bytes: d, m, 16 bytes of nibbles).
inline float add_q4_1_block(const std::byte* block, const QuantizedBlock& x, float acc) {
  int32_t isum = 0;
  for (uint32_t i = 0; i < 16; ++i) {
    const auto byte = static_cast<int32_t>(block[4 + i]);
    isum += (byte & 15) * x.values[i] + (byte >> 4) * x.values[i + 16];
  }
  acc = std::fma(static_cast<float>(isum), stored_half(block) * x.scale, acc);
  return std::fma(stored_half(block + 2), x.scale * static_cast<float>(x.sum), acc);
}

/// One block of 32 of a Q8_0 row (34 bytes: d, 32 values).
inline float add_q8_0_block(const std::byte* block, const QuantizedBlock& x, float acc) {
  int32_t isum = 0;
  for (uint32_t i = 0; i < 32; ++i) isum += static_cast<int8_t>(block[2 + i]) * x.values[i];
  return std::fma(static_cast<float>(isum), stored_half(block) * x.scale, acc);
}

/// Runs add_step(k, acc) over the steps of K: one chain, or 8 segments and their tree.
template <class AddStep>
float reduce(const std::vector<uint32_t>& segment_begin, AddStep add_step) {
  std::vector<float> sums;
  std::vector<bool> present;
  for (size_t s = 0; s + 1 < segment_begin.size(); ++s) {
    float acc = 0;
    for (uint32_t k = segment_begin[s]; k < segment_begin[s + 1]; ++k) acc = add_step(k, acc);
    sums.push_back(acc);
    present.push_back(segment_begin[s] < segment_begin[s + 1]);
  }
  while (sums.size() > 1) {
    std::vector<float> next;
    std::vector<bool> next_present;
    for (size_t i = 0; i < sums.size(); i += 2) {
      const bool left = present[i], right = present[i + 1];
      next.push_back(left && right ? sums[i] + sums[i + 1] : (left ? sums[i] : sums[i + 1]));
      next_present.push_back(left || right);
    }
    sums = next;
    present = next_present;
  }
  return sums[0];
}

}  // namespace troupe::cpu::reference
