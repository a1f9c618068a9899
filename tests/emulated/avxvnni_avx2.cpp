// The AVX-VNNI kernels on a CPU without AVX-VNNI: the one instruction that they have beyond AVX2,
// by its definition.
#include <immintrin.h>

#include <cstdint>

inline __m256i emulated_dpbusd_avx(__m256i sum, __m256i bytes, __m256i signed_bytes) {
  alignas(32) int32_t lanes[8];
  alignas(32) uint8_t a[32];
  alignas(32) int8_t b[32];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sum);
  _mm256_store_si256(reinterpret_cast<__m256i*>(a), bytes);
  _mm256_store_si256(reinterpret_cast<__m256i*>(b), signed_bytes);
  for (int i = 0; i < 32; ++i) lanes[i / 4] += int32_t{a[i]} * b[i];
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes));
}
#define _mm256_dpbusd_avx_epi32 emulated_dpbusd_avx

#include "cpu/kernels_avxvnni.cpp"
