#include "base/crc32c.hpp"

#if defined(__x86_64__)

#include <nmmintrin.h>

#include <array>
#include <cstring>

namespace troupe {
namespace {

// The crc32 instruction takes three cycles but one starts each cycle: three streams side by side
// run at full speed. Their results are joined by "append N zero bytes", a linear map of 32 bits.
using Matrix = std::array<uint32_t, 32>;  // column i: image of bit i

uint32_t apply(const Matrix& matrix, uint32_t value) {
  uint32_t result = 0;
  for (size_t i = 0; i < 32; ++i) {
    if ((value >> i) & 1) result ^= matrix[i];
  }
  return result;
}

/// Appending `bytes` (a power of two) zero bytes, as four tables of one byte each.
class ZeroShift {
 public:
  explicit ZeroShift(size_t bytes) {
    Matrix matrix;
    for (uint32_t i = 0; i < 32; ++i) matrix[i] = _mm_crc32_u8(1u << i, 0);
    for (; bytes > 1; bytes /= 2) {
      const Matrix half = matrix;
      for (size_t i = 0; i < 32; ++i) matrix[i] = apply(half, half[i]);
    }
    for (uint32_t k = 0; k < 4; ++k) {
      for (uint32_t b = 0; b < 256; ++b) tables_[k][b] = apply(matrix, b << (8 * k));
    }
  }

  [[nodiscard]] uint32_t operator()(uint32_t crc) const {
    return tables_[0][crc & 0xff] ^ tables_[1][(crc >> 8) & 0xff] ^ tables_[2][(crc >> 16) & 0xff] ^
           tables_[3][crc >> 24];
  }

 private:
  std::array<std::array<uint32_t, 256>, 4> tables_;
};

uint64_t load(const std::byte* p) {
  uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}

/// Consumes as many groups of three streams of `lane_bytes` as fit.
uint32_t three_lanes(const std::byte*& data, size_t& left, uint32_t crc, size_t lane_bytes,
                     const ZeroShift& shift) {
  while (left >= 3 * lane_bytes) {
    uint64_t a = crc;
    uint64_t b = 0;
    uint64_t c = 0;
    for (size_t i = 0; i < lane_bytes; i += 8) {
      a = _mm_crc32_u64(a, load(data + i));
      b = _mm_crc32_u64(b, load(data + lane_bytes + i));
      c = _mm_crc32_u64(c, load(data + 2 * lane_bytes + i));
    }
    crc = shift(static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b);
    crc = shift(crc) ^ static_cast<uint32_t>(c);
    data += 3 * lane_bytes;
    left -= 3 * lane_bytes;
  }
  return crc;
}

}  // namespace

uint32_t crc32c_sse42(std::span<const std::byte> bytes, uint32_t seed) {
  constexpr size_t long_bytes = 4096;
  constexpr size_t short_bytes = 256;
  static const ZeroShift long_shift(long_bytes);
  static const ZeroShift short_shift(short_bytes);
  const std::byte* data = bytes.data();
  size_t left = bytes.size();
  uint32_t crc = ~seed;
  crc = three_lanes(data, left, crc, long_bytes, long_shift);
  crc = three_lanes(data, left, crc, short_bytes, short_shift);
  for (; left >= 8; left -= 8, data += 8) {
    crc = static_cast<uint32_t>(_mm_crc32_u64(crc, load(data)));
  }
  for (; left > 0; --left, ++data) crc = _mm_crc32_u8(crc, std::to_integer<uint8_t>(*data));
  return ~crc;
}

}  // namespace troupe

#else

namespace troupe {

uint32_t crc32c_sse42(std::span<const std::byte> bytes, uint32_t seed) {
  return crc32c_scalar(bytes, seed);
}

}  // namespace troupe

#endif
