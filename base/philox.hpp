// Philox 4x32-10 (Salmon et al., SC 2011): counter-based random numbers, so that a draw is a
// function of its key and counter and nothing is consumed in an order (docs/numerics.md section 7).
#pragma once

#include <array>
#include <cstdint>

namespace troupe {

using PhiloxBlock = std::array<uint32_t, 4>;

inline PhiloxBlock philox(uint64_t key, PhiloxBlock counter) {
  uint32_t k0 = static_cast<uint32_t>(key);
  uint32_t k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return counter;
}

/// What a draw is for; part of the counter so that two uses at one position never share bits.
enum class DrawPurpose : uint32_t { target = 0, draft = 1 };

/// Uniform in [0, 1) with 24 bits: the draw of (seed, position, choice, purpose).
inline float philox_uniform(uint64_t seed, uint32_t position, uint32_t choice,
                            DrawPurpose purpose) {
  const PhiloxBlock block = philox(seed, {position, choice, static_cast<uint32_t>(purpose), 0u});
  return static_cast<float>(block[0] >> 8) * 0x1p-24f;
}

}  // namespace troupe
