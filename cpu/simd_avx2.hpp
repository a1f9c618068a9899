// AVX2, FMA and F16C: 8 lanes. Included by kernels_avx2.cpp alone.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace troupe::cpu {

struct Avx2Isa {
  static constexpr int width = 8;
  static constexpr int strip_tile_tokens = 4;  ///< times 2 vectors of rows: 8 sums in registers
  static constexpr int float_tile_tokens = 6;  ///< 12 sums
  static constexpr bool signed_whole_panel = true;
  using F = __m256;
  using I = __m256i;
  using Bytes = __m256i;
  struct Signed {
    __m256i magnitude, value;
  };

  static F set(float x) { return _mm256_set1_ps(x); }
  static F load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, F a) { _mm256_storeu_ps(p, a); }
  static F load(const uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static void store(uint16_t* p, F a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
  }
  static F load_bf16(const uint16_t* p) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
  }
  static float to_float(uint16_t h) { return _cvtsh_ss(h); }
  static uint16_t to_half(float x) { return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT); }

  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F div(F a, F b) { return _mm256_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F min(F a, F b) { return _mm256_min_ps(a, b); }
  static F max(F a, F b) { return _mm256_max_ps(a, b); }
  static float sum_of_lanes(const F* part) {
    const F eight = add(part[0], part[1]);
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
  }
  static float max_of_lanes(const F* part) {
    const F eight = max(part[0], part[1]);
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
  }
  static float sqrt(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

  static I set_int(int32_t x) { return _mm256_set1_epi32(x); }
  static I load_int(const int32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static void store_int(int32_t* p, I a) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a); }
  static I load_ints(const uint8_t* p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  static I load_ints(const int8_t* p) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  static I bits(F a) { return _mm256_castps_si256(a); }
  static F from_bits(I a) { return _mm256_castsi256_ps(a); }
  static F to_float(I a) { return _mm256_cvtepi32_ps(a); }
  static I add_int(I a, I b) { return _mm256_add_epi32(a, b); }
  static I sub_int(I a, I b) { return _mm256_sub_epi32(a, b); }
  static I and_int(I a, I b) { return _mm256_and_si256(a, b); }
  static I max_int(I a, I b) { return _mm256_max_epi32(a, b); }
  static I halve(I a) { return _mm256_srai_epi32(a, 1); }
  static int32_t highest_lane(I a) {
    __m128i x = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    x = _mm_max_epi32(x, _mm_shuffle_epi32(x, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(x, _mm_shuffle_epi32(x, 0xb1)));
  }
  static int32_t sum_of_ints(I a) {
    __m128i x = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    x = _mm_add_epi32(x, _mm_shuffle_epi32(x, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(x, _mm_shuffle_epi32(x, 0xb1)));
  }
  static void store_block(int8_t* p, const I* a) {
    const __m256i bytes =
        _mm256_packs_epi16(_mm256_packs_epi32(a[0], a[1]), _mm256_packs_epi32(a[2], a[3]));
    // Packing works in halves of 16 bytes: puts the groups of 4 in order again.
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permutevar8x32_epi32(bytes, order));
  }
  static F power_of_two(I a) { return from_bits(_mm256_slli_epi32(add_int(a, set_int(127)), 23)); }

  static Bytes load_bytes(const uint8_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static void store_bytes(uint8_t* p, Bytes a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a);
  }
  static Bytes low_nibbles(Bytes a) { return _mm256_and_si256(a, _mm256_set1_epi8(15)); }
  static Bytes high_nibbles(Bytes a) { return low_nibbles(_mm256_srli_epi16(a, 4)); }
  static Bytes or_bytes(Bytes a, Bytes b) { return _mm256_or_si256(a, b); }
  template <int up>
  static Bytes move_bits(Bytes a, int mask) {
    if constexpr (up > 0) a = _mm256_slli_epi16(a, up);
    if constexpr (up < 0) a = _mm256_srli_epi16(a, -up);
    return _mm256_and_si256(a, _mm256_set1_epi8(static_cast<char>(mask)));
  }
  static Bytes look_up(const int8_t* values, Bytes codes) {
    const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), codes);
  }
  static __m256i four(const int8_t* x) {
    int32_t bytes;
    __builtin_memcpy(&bytes, x, sizeof bytes);
    return _mm256_set1_epi32(bytes);
  }

  /// GCC would add a block's products as a tree, which needs more registers than there are: with
  /// all of them on the stack the tile takes half as long again (docs/kernels.md).
  static void keep_order(__m256i& sum) { __asm__("" : "+x"(sum)); }

  /// The products of a run are added in 16-bit halves, runs in 32 bits.
  struct ByteSum {
    __m256i halves, runs;
  };
  static ByteSum byte_sum() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  template <int run>
  static void dot_bytes(ByteSum& sum, int j, Bytes w, const int8_t* x) {
    const __m256i pairs = _mm256_maddubs_epi16(w, four(x));
    sum.halves = j % run == 0 ? pairs : _mm256_add_epi16(sum.halves, pairs);
    keep_order(sum.halves);
    if (j % run != run - 1) return;
    const __m256i ints = _mm256_madd_epi16(sum.halves, _mm256_set1_epi16(1));
    sum.runs = j < run ? ints : _mm256_add_epi32(sum.runs, ints);
  }
  static I finish(const ByteSum& sum) { return sum.runs; }

  static Signed prepare_signed(Bytes w) { return {_mm256_abs_epi8(w), w}; }
  /// |w| <= 128 as unsigned, x takes w's sign: two products are at most 2 * 128 * 127 < 2^15.
  static void dot_signed(I& sum, Signed w, const int8_t* x) {
    const __m256i pairs = _mm256_maddubs_epi16(w.magnitude, _mm256_sign_epi8(four(x), w.value));
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    keep_order(sum);
  }
  static I finish_signed(I sum, int32_t /*x_sum*/) { return sum; }
};

}  // namespace troupe::cpu
