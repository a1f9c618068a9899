// AVX-512 with VNNI: 16 lanes. Included by kernels_avx512.cpp alone.
#pragma once

// GCC 12's own avx512fintrin.h trips both warnings (its bug 105593).
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <cstdint>

namespace troupe::cpu {

struct Avx512Isa {
  static constexpr int width = 16;
  static constexpr int strip_tile_tokens = 8;
  static constexpr int float_tile_tokens = 12;
  static constexpr bool signed_whole_panel = true;
  using F = __m512;
  using I = __m512i;
  using Bytes = __m512i;
  using Signed = __m512i;  ///< weights + 128, unsigned

  static F set(float x) { return _mm512_set1_ps(x); }
  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, F a) { _mm512_storeu_ps(p, a); }
  static F load(const uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static void store(uint16_t* p, F a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
  }
  static F load_bf16(const uint16_t* p) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
  static float to_float(uint16_t h) { return _cvtsh_ss(h); }
  static uint16_t to_half(float x) { return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT); }

  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F min(F a, F b) { return _mm512_min_ps(a, b); }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static float sum_of_lanes(const F* part) {
    float lane[width];
    store(lane, *part);
    const __m256 eight = _mm256_add_ps(_mm256_loadu_ps(lane), _mm256_loadu_ps(lane + 8));
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
  }
  static float max_of_lanes(const F* part) {
    float lane[width];
    store(lane, *part);
    const __m256 eight = _mm256_max_ps(_mm256_loadu_ps(lane), _mm256_loadu_ps(lane + 8));
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
  }
  static float sqrt(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

  static I set_int(int32_t x) { return _mm512_set1_epi32(x); }
  static I load_int(const int32_t* p) { return _mm512_loadu_si512(p); }
  static void store_int(int32_t* p, I a) { _mm512_storeu_si512(p, a); }
  static I load_ints(const uint8_t* p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static I load_ints(const int8_t* p) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static I bits(F a) { return _mm512_castps_si512(a); }
  static F from_bits(I a) { return _mm512_castsi512_ps(a); }
  static F to_float(I a) { return _mm512_cvtepi32_ps(a); }
  static I add_int(I a, I b) { return _mm512_add_epi32(a, b); }
  static I sub_int(I a, I b) { return _mm512_sub_epi32(a, b); }
  static I and_int(I a, I b) { return _mm512_and_si512(a, b); }
  static I max_int(I a, I b) { return _mm512_max_epi32(a, b); }
  static I halve(I a) { return _mm512_srai_epi32(a, 1); }
  static int32_t highest_lane(I a) {
    int32_t lane[width];
    store_int(lane, a);
    int32_t highest = lane[0];
    for (const int32_t one : lane) highest = one > highest ? one : highest;
    return highest;
  }
  static int32_t sum_of_ints(I a) {
    int32_t lane[width];
    store_int(lane, a);
    int32_t sum = 0;
    for (const int32_t one : lane) sum += one;
    return sum;
  }
  static void store_block(int8_t* p, const I* a) {
    int32_t lane[2 * width];
    store_int(lane, a[0]);
    store_int(lane + width, a[1]);
    for (int i = 0; i < 2 * width; ++i) p[i] = static_cast<int8_t>(lane[i]);
  }
  static F power_of_two(I a) { return from_bits(_mm512_slli_epi32(add_int(a, set_int(127)), 23)); }

  static Bytes load_bytes(const uint8_t* p) { return _mm512_loadu_si512(p); }
  static void store_bytes(uint8_t* p, Bytes a) { _mm512_storeu_si512(p, a); }
  static Bytes low_nibbles(Bytes a) { return _mm512_and_si512(a, _mm512_set1_epi8(15)); }
  static Bytes high_nibbles(Bytes a) { return low_nibbles(_mm512_srli_epi16(a, 4)); }
  static Bytes or_bytes(Bytes a, Bytes b) { return _mm512_or_si512(a, b); }
  template <int up>
  static Bytes move_bits(Bytes a, int mask) {
    if constexpr (up > 0) a = _mm512_slli_epi16(a, up);
    if constexpr (up < 0) a = _mm512_srli_epi16(a, -up);
    return _mm512_and_si512(a, _mm512_set1_epi8(static_cast<char>(mask)));
  }
  static Bytes look_up(const int8_t* values, Bytes codes) {
    const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), codes);
  }
  static __m512i four(const int8_t* x) {
    int32_t bytes;
    __builtin_memcpy(&bytes, x, sizeof bytes);
    return _mm512_set1_epi32(bytes);
  }

  using ByteSum = I;
  static ByteSum byte_sum() { return _mm512_setzero_si512(); }
  template <int run>
  static void dot_bytes(ByteSum& sum, int /*j*/, Bytes w, const int8_t* x) {
    sum = _mm512_dpbusd_epi32(sum, w, four(x));
  }
  static I finish(ByteSum sum) { return sum; }

  static Signed prepare_signed(Bytes w) { return _mm512_xor_si512(w, _mm512_set1_epi8(-128)); }
  static void dot_signed(I& sum, Signed w, const int8_t* x) {
    sum = _mm512_dpbusd_epi32(sum, w, four(x));
  }
  static I finish_signed(I sum, int32_t x_sum) { return sub_int(sum, set_int(128 * x_sum)); }
};

}  // namespace troupe::cpu
