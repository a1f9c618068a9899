// CRC-32C (Castagnoli, RFC 3720 appendix B.4): checksums of KV blocks and wire frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// The polynomial, its bits reversed.
inline constexpr uint32_t crc32c_polynomial = 0x82f63b78;

/// CRC of `bytes`, continued from `seed` (0 to start).
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t seed = 0);

/// Table-driven version; same result on every CPU.
uint32_t crc32c_scalar(std::span<const std::byte> bytes, uint32_t seed = 0);

/// With the crc32 instruction of SSE4.2, only where cpu_has_crc32(). Exposed for tests.
uint32_t crc32c_sse42(std::span<const std::byte> bytes, uint32_t seed = 0);
bool cpu_has_crc32();

}  // namespace troupe
