// Copies bytes and takes the checksum of what was copied in one pass: where a block comes over
// memory, reading it twice would cost as much as moving it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// Where what is written should lie.
enum class CopyTo : uint8_t {
  cache,   ///< it is used at once
  memory,  ///< it is larger than caches, so that pushing other things out of them gains nothing
};

/// memcpy(to, from) and crc32c(from, seed). Each byte of `from` is read once: if it changes
/// meanwhile, the result is the checksum of what was written.
uint32_t copy_crc32c(std::byte* to, std::span<const std::byte> from, CopyTo where,
                     uint32_t seed = 0);

/// The same in two passes over small pieces, on every CPU; here a byte is read from `to` again.
uint32_t copy_crc32c_plain(std::byte* to, std::span<const std::byte> from, uint32_t seed = 0);

/// With carry-less products of 256 bits, only where cpu_has_vpclmul(). Exposed for tests.
uint32_t copy_crc32c_vpclmul(std::byte* to, std::span<const std::byte> from, CopyTo where,
                             uint32_t seed = 0);
bool cpu_has_vpclmul();

}  // namespace troupe
