// The AVX-512 kernels on a CPU without AVX-512: SIMDe computes each intrinsic by its definition, so
// that the very source of cpu/simd_avx512.hpp is tested. Compiled for AVX2 (F16C is needed).
#include <immintrin.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <simde/x86/avx512.h>
#include <simde/x86/avx512/dpbusd.h>

// What this release of SIMDe lacks, by the definition of each intrinsic.
inline simde__m512 emulated_cvtepi32(simde__m512i x) {
  alignas(64) int32_t in[16];
  alignas(64) float out[16];
  simde_mm512_storeu_si512(in, x);
  for (int i = 0; i < 16; ++i) out[i] = static_cast<float>(in[i]);
  return simde_mm512_loadu_ps(out);
}
inline simde__m512i emulated_srai(simde__m512i x, int count) {
  alignas(64) int32_t lanes[16];
  simde_mm512_storeu_si512(lanes, x);
  for (int32_t& lane : lanes) lane >>= count;
  return simde_mm512_loadu_si512(lanes);
}
inline simde__m512 emulated_cvtph(__m256i halves) {
  alignas(64) float out[16];
  _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm256_castsi256_si128(halves)));
  _mm256_storeu_ps(out + 8, _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)));
  return simde_mm512_loadu_ps(out);
}
inline simde__m512i emulated_cvtepu16(__m256i halves) {
  alignas(32) uint16_t in[16];
  alignas(64) int32_t out[16];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(in), halves);
  for (int i = 0; i < 16; ++i) out[i] = in[i];
  return simde_mm512_loadu_si512(out);
}
template <class Small>
inline simde__m512i emulated_widen(__m128i bytes) {
  alignas(16) Small in[16];
  alignas(64) int32_t out[16];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(in), bytes);
  for (int i = 0; i < 16; ++i) out[i] = in[i];
  return simde_mm512_loadu_si512(out);
}
/// A code with its highest bit set gives 0, else its low four index the bytes of the same 16.
inline simde__m512i emulated_shuffle(simde__m512i table, simde__m512i codes) {
  alignas(64) uint8_t from[64], at[64], out[64];
  simde_mm512_storeu_si512(from, table);
  simde_mm512_storeu_si512(at, codes);
  for (int i = 0; i < 64; ++i) {
    out[i] = (at[i] & 128) != 0 ? uint8_t{0} : from[i / 16 * 16 + (at[i] & 15)];
  }
  return simde_mm512_loadu_si512(out);
}
inline simde__m512i emulated_broadcast(__m128i bytes) {
  alignas(64) uint8_t out[64];
  for (int i = 0; i < 4; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(out) + i, bytes);
  return simde_mm512_loadu_si512(out);
}
inline simde__m512i emulated_slli16(simde__m512i x, int count) {
  alignas(64) uint16_t lanes[32];
  simde_mm512_storeu_si512(lanes, x);
  for (uint16_t& lane : lanes) lane = static_cast<uint16_t>(lane << count);
  return simde_mm512_loadu_si512(lanes);
}
template <int rounding>
inline __m256i emulated_cvtps(simde__m512 x) {
  alignas(64) float in[16];
  simde_mm512_storeu_ps(in, x);
  return _mm256_set_m128i(_mm256_cvtps_ph(_mm256_loadu_ps(in + 8), rounding),
                          _mm256_cvtps_ph(_mm256_loadu_ps(in), rounding));
}
#pragma GCC diagnostic pop

#undef _mm512_cvtepi32_ps
#undef _mm512_srai_epi32
#undef _mm512_cvtph_ps
#undef _mm512_cvtps_ph
#undef _mm512_cvtepu16_epi32
#define _mm512_cvtepu16_epi32(a) emulated_cvtepu16(a)
#undef _mm512_cvtepu8_epi32
#undef _mm512_cvtepi8_epi32
#undef _mm512_shuffle_epi8
#undef _mm512_broadcast_i32x4
#undef _mm512_slli_epi16
#define _mm512_cvtepu8_epi32(a) emulated_widen<uint8_t>(a)
#define _mm512_cvtepi8_epi32(a) emulated_widen<int8_t>(a)
#define _mm512_shuffle_epi8(table, codes) emulated_shuffle(table, codes)
#define _mm512_broadcast_i32x4(a) emulated_broadcast(a)
#define _mm512_slli_epi16(a, count) emulated_slli16(a, count)
#define _mm512_cvtepi32_ps(a) emulated_cvtepi32(a)
#define _mm512_srai_epi32(a, count) emulated_srai(a, count)
#define _mm512_cvtph_ps(a) emulated_cvtph(a)
#define _mm512_cvtps_ph(a, rounding) emulated_cvtps<rounding>(a)
#undef _mm512_add_epi32
#define _mm512_add_epi32 simde_mm512_add_epi32
#undef _mm512_add_ps
#define _mm512_add_ps simde_mm512_add_ps
#undef _mm512_and_si512
#define _mm512_and_si512 simde_mm512_and_si512
#undef _mm512_castps_si512
#define _mm512_castps_si512 simde_mm512_castps_si512
#undef _mm512_castsi512_ps
#define _mm512_castsi512_ps simde_mm512_castsi512_ps
#undef _mm512_div_ps
#define _mm512_div_ps simde_mm512_div_ps
#undef _mm512_dpbusd_epi32
#define _mm512_dpbusd_epi32 simde_mm512_dpbusd_epi32
#undef _mm512_fmadd_ps
#define _mm512_fmadd_ps simde_mm512_fmadd_ps
#undef _mm512_loadu_ps
#define _mm512_loadu_ps simde_mm512_loadu_ps
#undef _mm512_loadu_si512
#define _mm512_loadu_si512 simde_mm512_loadu_si512
#undef _mm512_max_epi32
#define _mm512_max_epi32 simde_mm512_max_epi32
#undef _mm512_max_ps
#define _mm512_max_ps simde_mm512_max_ps
#undef _mm512_min_ps
#define _mm512_min_ps simde_mm512_min_ps
#undef _mm512_mul_ps
#define _mm512_mul_ps simde_mm512_mul_ps
#undef _mm512_or_si512
#define _mm512_or_si512 simde_mm512_or_si512
#undef _mm512_set1_epi32
#define _mm512_set1_epi32 simde_mm512_set1_epi32
#undef _mm512_set1_epi8
#define _mm512_set1_epi8 simde_mm512_set1_epi8
#undef _mm512_set1_ps
#define _mm512_set1_ps simde_mm512_set1_ps
#undef _mm512_setzero_si512
#define _mm512_setzero_si512 simde_mm512_setzero_si512
#undef _mm512_slli_epi32
#define _mm512_slli_epi32 simde_mm512_slli_epi32
#undef _mm512_srli_epi16
#define _mm512_srli_epi16 simde_mm512_srli_epi16
#undef _mm512_storeu_ps
#define _mm512_storeu_ps simde_mm512_storeu_ps
#undef _mm512_storeu_si512
#define _mm512_storeu_si512 simde_mm512_storeu_si512
#undef _mm512_sub_epi32
#define _mm512_sub_epi32 simde_mm512_sub_epi32
#undef _mm512_sub_ps
#define _mm512_sub_ps simde_mm512_sub_ps
#undef _mm512_xor_si512
#define _mm512_xor_si512 simde_mm512_xor_si512
#undef __m512
#undef __m512i
#define __m512 simde__m512
#define __m512i simde__m512i

#include "cpu/kernels_avx512.cpp"
