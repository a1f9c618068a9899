// CRC-32C (Castagnoli, RFC 3720 appendix B.4): checksums of KV blocks and wire frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// CRC of `bytes`, continued from `seed` (0 to start).
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t seed = 0);

/// Table-driven version; same result on every CPU.
uint32_t crc32c_scalar(std::span<const std::byte> bytes, uint32_t seed = 0);

}  // namespace troupe
