// SHA-256 (FIPS 180-4), with the SHA extensions of x86 where the CPU has them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

using Digest = std::array<uint8_t, 32>;

/// Incremental hash: update any number of times, finish once.
class Sha256 {
 public:
  Sha256();
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  /// Appends an integer as 8 bytes, little-endian (for canonical encodings).
  void update_u64(uint64_t value);
  Digest finish();

 private:
  std::array<uint32_t, 8> state_;
  std::array<uint8_t, 64> buffer_;
  uint64_t bytes_ = 0;
};

Digest sha256(std::span<const std::byte> bytes);
Digest sha256(std::string_view text);

/// HMAC-SHA256 (RFC 2104).
Digest hmac_sha256(std::string_view key, std::string_view message);

std::string hex(std::span<const uint8_t> bytes);

/// Compresses whole 64-byte blocks; both give the same bits. Exposed for tests.
void sha256_blocks_scalar(std::array<uint32_t, 8>& state, const uint8_t* data, size_t blocks);
void sha256_blocks_shani(std::array<uint32_t, 8>& state, const uint8_t* data, size_t blocks);
bool cpu_has_shani();

}  // namespace troupe
