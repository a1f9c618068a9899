#include "base/copy_crc32c.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <cstring>

#include "base/crc32c.hpp"

namespace troupe {
namespace {

// A message is a polynomial over GF(2), and its checksum depends on it modulo the CRC's polynomial
// only. So 128 bits that T bits follow may be replaced by what x^T times them is modulo that
// polynomial, added to the 128 bits that stand T further on (Gopal et al., Intel, 2009: "Fast CRC
// computation for generic polynomials using PCLMULQDQ"). Eight lanes of 128 bits go on at a time;
// the last 128 bytes have the checksum of the whole and are left to the crc32 instruction.
constexpr size_t vectors = 4;
constexpr size_t step_bytes = vectors * sizeof(__m256i);

/// x^n modulo the polynomial, in the bits' reversed order, as a factor for 64 reversed bits.
uint64_t power_of_x(int n) {
  uint32_t value = 0x80000000;
  for (; n > 0; --n) value = (value >> 1) ^ ((value & 1) != 0 ? crc32c_polynomial : 0u);
  return uint64_t{value} << 1;
}

/// The factors of the lower and the upper half of a lane that goes on by step_bytes.
__m256i step_factors() {
  constexpr int bits = 8 * step_bytes;
  static const std::array<uint64_t, 2> factors = {power_of_x(bits + 32), power_of_x(bits - 32)};
  return _mm256_set_epi64x(static_cast<int64_t>(factors[1]), static_cast<int64_t>(factors[0]),
                           static_cast<int64_t>(factors[1]), static_cast<int64_t>(factors[0]));
}

__m256i load(const std::byte* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

template <CopyTo where>
void store(std::byte* p, __m256i v) {
  auto* const to = reinterpret_cast<__m256i*>(p);
  if constexpr (where == CopyTo::memory) {
    _mm256_stream_si256(to, v);
  } else {
    _mm256_storeu_si256(to, v);
  }
}

uint32_t short_crc(std::byte* to, const std::byte* from, size_t bytes, uint32_t crc) {
  for (; bytes > 0; --bytes, ++from, ++to) {
    *to = *from;
    crc = _mm_crc32_u8(crc, std::to_integer<uint8_t>(*to));
  }
  return crc;
}

/// Copies and folds whole steps, at least one; `crc` is without the final inversion.
template <CopyTo where>
uint32_t fold(std::byte*& to, const std::byte*& from, size_t& left, uint32_t crc) {
  const __m256i factors = step_factors();
  __m256i lanes[vectors];
  for (size_t i = 0; i < vectors; ++i) {
    lanes[i] = load(from + 32 * i);
    store<where>(to + 32 * i, lanes[i]);
  }
  lanes[0] = _mm256_xor_si256(lanes[0], _mm256_set_epi64x(0, 0, 0, crc));
  for (;;) {
    from += step_bytes;
    to += step_bytes;
    left -= step_bytes;
    if (left < step_bytes) break;
    for (size_t i = 0; i < vectors; ++i) {
      const __m256i next = load(from + 32 * i);
      store<where>(to + 32 * i, next);
      const __m256i lower = _mm256_clmulepi64_epi128(lanes[i], factors, 0x00);
      const __m256i upper = _mm256_clmulepi64_epi128(lanes[i], factors, 0x11);
      lanes[i] = _mm256_xor_si256(_mm256_xor_si256(lower, upper), next);
    }
  }
  std::array<uint64_t, step_bytes / 8> rest;
  std::memcpy(rest.data(), lanes, step_bytes);
  uint64_t result = 0;
  for (const uint64_t word : rest) result = _mm_crc32_u64(result, word);
  return static_cast<uint32_t>(result);
}

}  // namespace

uint32_t copy_crc32c_vpclmul(std::byte* to, std::span<const std::byte> from, CopyTo where,
                             uint32_t seed) {
  const std::byte* data = from.data();
  size_t left = from.size();
  uint32_t crc = ~seed;
  const bool streams = where == CopyTo::memory && left >= 2 * step_bytes;
  if (streams) {
    const size_t head = (32 - reinterpret_cast<uintptr_t>(to) % 32) % 32;
    crc = short_crc(to, data, head, crc);
    to += head;
    data += head;
    left -= head;
    crc = fold<CopyTo::memory>(to, data, left, crc);
    _mm_sfence();
  } else if (left >= step_bytes) {
    crc = fold<CopyTo::cache>(to, data, left, crc);
  }
  return ~short_crc(to, data, left, crc);
}

}  // namespace troupe

#else

namespace troupe {

uint32_t copy_crc32c_vpclmul(std::byte* to, std::span<const std::byte> from, CopyTo,
                             uint32_t seed) {
  return copy_crc32c_plain(to, from, seed);
}

}  // namespace troupe

#endif
