#include "base/copy_crc32c.hpp"

#include <algorithm>
#include <cstring>

#include "base/crc32c.hpp"

namespace troupe {

uint32_t copy_crc32c_plain(std::byte* to, std::span<const std::byte> from, uint32_t seed) {
  constexpr size_t piece_bytes = 16384;  // still in the first cache when its checksum is taken
  for (size_t at = 0; at < from.size(); at += piece_bytes) {
    const size_t bytes = std::min(piece_bytes, from.size() - at);
    std::memcpy(to + at, from.data() + at, bytes);
    seed = crc32c({to + at, bytes}, seed);
  }
  return seed;
}

bool cpu_has_vpclmul() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("vpclmulqdq") != 0 && __builtin_cpu_supports("avx2") != 0 &&
         __builtin_cpu_supports("sse4.2") != 0;
#else
  return false;
#endif
}

uint32_t copy_crc32c(std::byte* to, std::span<const std::byte> from, CopyTo where, uint32_t seed) {
  static const bool fast = cpu_has_vpclmul();
  return fast ? copy_crc32c_vpclmul(to, from, where, seed) : copy_crc32c_plain(to, from, seed);
}

}  // namespace troupe
