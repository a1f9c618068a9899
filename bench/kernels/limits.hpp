// Bare loops of what bounds the kernels, without any use of the results.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::bench {

/// Reads everything, a cache line of 8 words at a time, as far ahead as the kernels. `words` lie on
/// a line's boundary.
inline uint64_t sum_of(const uint64_t* words, size_t count) {
  using Pair __attribute__((vector_size(16), may_alias)) = uint64_t;
  constexpr size_t ahead = 256;
  const auto* pairs = reinterpret_cast<const Pair*>(words);
  Pair a = {}, b = {}, c = {}, d = {};
  for (size_t i = 0; i < count / 8; ++i, pairs += 4) {
    __builtin_prefetch(words + 8 * i + ahead);
    a += pairs[0];
    b += pairs[1];
    c += pairs[2];
    d += pairs[3];
  }
  const Pair all = (a + b) + (c + d);
  return all[0] + all[1];
}

#if defined(__x86_64__)
// Registers are named so that no compiler keeps the accumulators in memory.
#define TROUPE_EIGHT_TIMES(step) \
  step("0") step("1") step("2") step("3") step("4") step("5") step("6") step("7")

/// 8 vpmaddubsw and as many vpaddw a round: 8 * 64 operations.
inline void spin_byte_products(int rounds) {
#define TROUPE_STEP(n) \
  "vpmaddubsw %%ymm15, %%ymm15, %%ymm14\n vpaddw %%ymm14, %%ymm" n ", %%ymm" n "\n"
  for (int i = 0; i < rounds; ++i) {
    __asm__ volatile(TROUPE_EIGHT_TIMES(TROUPE_STEP)::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm14",
                           "xmm15");
  }
#undef TROUPE_STEP
}

/// 8 fused multiply-adds a round: 8 * 16 operations.
inline void spin_float_products(int rounds) {
#define TROUPE_STEP(n) "vfmadd231ps %%ymm15, %%ymm15, %%ymm" n "\n"
  __asm__ volatile("vpxor %%ymm15, %%ymm15, %%ymm15" ::: "xmm15");
  for (int i = 0; i < rounds; ++i) {
    __asm__ volatile(TROUPE_EIGHT_TIMES(TROUPE_STEP)::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
  }
#undef TROUPE_STEP
}
#undef TROUPE_EIGHT_TIMES
#else
inline void spin_byte_products(int /*rounds*/) {}
inline void spin_float_products(int /*rounds*/) {}
#endif

}  // namespace troupe::bench
