#include "cpu/select_positions.hpp"

#include <algorithm>
#include <bit>

namespace troupe::cpu {
namespace {

/// Higher for a higher score, then for a lower position; NaN, which fails the request anyway, has a
/// place too, so that the order is total.
uint64_t rank(float score, uint32_t position) {
  const auto bits = std::bit_cast<uint32_t>(score == 0.0f ? 0.0f : score);
  const uint32_t ordered = bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
  return uint64_t{ordered} << 32 | (UINT32_MAX - position);
}

}  // namespace

void select_positions(const float* scores, uint32_t positions, uint32_t top_k, uint64_t* bits,
                      std::vector<uint64_t>& scratch) {
  const uint32_t words = (positions + 63) / 64;
  if (positions <= top_k) {
    std::fill_n(bits, words, ~uint64_t{0});
    return;
  }
  scratch.resize(positions);
  for (uint32_t p = 0; p < positions; ++p) scratch[p] = rank(scores[p], p);
  std::nth_element(scratch.begin(), scratch.begin() + (top_k - 1), scratch.end(), std::greater<>());
  std::fill_n(bits, words, uint64_t{0});
  for (uint32_t i = 0; i < top_k; ++i) {
    const uint32_t position = UINT32_MAX - static_cast<uint32_t>(scratch[i]);
    bits[position / 64] |= uint64_t{1} << (position % 64);
  }
}

}  // namespace troupe::cpu
