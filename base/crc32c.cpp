#include "base/crc32c.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace troupe {
namespace {

using Tables = std::array<std::array<uint32_t, 256>, 8>;

// tables[k][b]: what byte b contributes when k more bytes follow it within the same 8-byte word.
constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? crc32c_polynomial : 0);
    tables[0][b] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t b = 0; b < 256; ++b) {
      const uint32_t before = tables[k - 1][b];
      tables[k][b] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr Tables tables = make_tables();

}  // namespace

uint32_t crc32c_scalar(std::span<const std::byte> bytes, uint32_t seed) {
  static_assert(std::endian::native == std::endian::little);
  uint32_t crc = ~seed;
  const std::byte* data = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, data += 8) {
    uint64_t word;
    std::memcpy(&word, data, 8);
    word ^= crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= tables[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (; left > 0; --left, ++data) {
    crc = (crc >> 8) ^ tables[0][(crc ^ std::to_integer<uint32_t>(*data)) & 0xff];
  }
  return ~crc;
}

bool cpu_has_crc32() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("sse4.2") != 0;
#else
  return false;
#endif
}

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t seed) {
  static const bool fast = cpu_has_crc32();
  return fast ? crc32c_sse42(bytes, seed) : crc32c_scalar(bytes, seed);
}

}  // namespace troupe
