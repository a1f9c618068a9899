// NEON with dot product (ARMv8.2): 4 lanes. Included by kernels_neon.cpp alone.
#pragma once

#include <arm_neon.h>

#include <cstdint>

namespace troupe::cpu {

struct NeonIsa {
  static constexpr int width = 4;
  static constexpr int strip_tile_tokens = 4;  ///< times 4 vectors of rows: 16 sums in registers
  static constexpr int float_tile_tokens = 6;  ///< 24 sums
  static constexpr bool signed_whole_panel = true;
  using F = float32x4_t;
  using I = int32x4_t;
  using Bytes = uint8x16_t;
  using Signed = int8x16_t;

  static F set(float x) { return vdupq_n_f32(x); }
  static F load(const float* p) { return vld1q_f32(p); }
  static void store(float* p, F a) { vst1q_f32(p, a); }
  static F load(const uint16_t* p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
  static void store(uint16_t* p, F a) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(a))); }
  static F load_bf16(const uint16_t* p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
  }
  static float to_float(uint16_t h) {
    return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(h))), 0);
  }
  static uint16_t to_half(float x) {
    return vget_lane_u16(vreinterpret_u16_f16(vcvt_f16_f32(vdupq_n_f32(x))), 0);
  }

  static F add(F a, F b) { return vaddq_f32(a, b); }
  static F sub(F a, F b) { return vsubq_f32(a, b); }
  static F mul(F a, F b) { return vmulq_f32(a, b); }
  static F div(F a, F b) { return vdivq_f32(a, b); }
  static F fma(F a, F b, F c) { return vfmaq_f32(c, a, b); }
  // Not vminq and vmaxq, which keep a NaN of either side.
  static F min(F a, F b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
  static F max(F a, F b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
  static float sum_of_lanes(const F* part) {
    const F four = add(add(part[0], part[2]), add(part[1], part[3]));
    const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
  }
  static float max_of_lanes(const F* part) {
    const F four = max(max(part[0], part[2]), max(part[1], part[3]));
    const F two = max(four, vextq_f32(four, four, 2));
    const F one = max(two, vextq_f32(two, two, 1));
    return vgetq_lane_f32(one, 0);
  }
  static float sqrt(float x) { return vget_lane_f32(vsqrt_f32(vdup_n_f32(x)), 0); }

  static I set_int(int32_t x) { return vdupq_n_s32(x); }
  static I load_int(const int32_t* p) { return vld1q_s32(p); }
  static void store_int(int32_t* p, I a) { vst1q_s32(p, a); }
  static I load_ints(const uint8_t* p) {
    const uint16x8_t words = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(word(p))));
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(words)));
  }
  static I load_ints(const int8_t* p) {
    return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(word(p))))));
  }
  static I bits(F a) { return vreinterpretq_s32_f32(a); }
  static F from_bits(I a) { return vreinterpretq_f32_s32(a); }
  static F to_float(I a) { return vcvtq_f32_s32(a); }
  static I add_int(I a, I b) { return vaddq_s32(a, b); }
  static I sub_int(I a, I b) { return vsubq_s32(a, b); }
  static I and_int(I a, I b) { return vandq_s32(a, b); }
  static I max_int(I a, I b) { return vmaxq_s32(a, b); }
  static I halve(I a) { return vshrq_n_s32(a, 1); }
  static int32_t highest_lane(I a) { return vmaxvq_s32(a); }
  static int32_t sum_of_ints(I a) { return vaddvq_s32(a); }
  static void store_block(int8_t* p, const I* a) {
    for (int i = 0; i < 8; i += 4) {
      const int16x8_t low = vcombine_s16(vmovn_s32(a[i]), vmovn_s32(a[i + 1]));
      const int16x8_t high = vcombine_s16(vmovn_s32(a[i + 2]), vmovn_s32(a[i + 3]));
      vst1q_s8(p + i * width, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
    }
  }
  static F power_of_two(I a) { return from_bits(vshlq_n_s32(add_int(a, set_int(127)), 23)); }

  static Bytes load_bytes(const uint8_t* p) { return vld1q_u8(p); }
  static void store_bytes(uint8_t* p, Bytes a) { vst1q_u8(p, a); }
  static Bytes low_nibbles(Bytes a) { return vandq_u8(a, vdupq_n_u8(15)); }
  static Bytes high_nibbles(Bytes a) { return vshrq_n_u8(a, 4); }
  static Bytes or_bytes(Bytes a, Bytes b) { return vorrq_u8(a, b); }
  template <int up>
  static Bytes move_bits(Bytes a, int mask) {
    if constexpr (up > 0) a = vshlq_n_u8(a, up);
    if constexpr (up < 0) a = vshrq_n_u8(a, -up);
    return vandq_u8(a, vdupq_n_u8(static_cast<uint8_t>(mask)));
  }
  static Bytes look_up(const int8_t* values, Bytes codes) {
    return vreinterpretq_u8_s8(vqtbl1q_s8(vld1q_s8(values), codes));
  }
  template <class Byte>
  static uint32_t word(const Byte* p) {
    uint32_t bytes;
    __builtin_memcpy(&bytes, p, sizeof bytes);
    return bytes;
  }
  static int8x16_t four(const int8_t* x) { return vreinterpretq_s8_u32(vdupq_n_u32(word(x))); }

  /// Weights without sign are below 128: they are signed ones too.
  using ByteSum = I;
  static ByteSum byte_sum() { return vdupq_n_s32(0); }
  template <int run>
  static void dot_bytes(ByteSum& sum, int /*j*/, Bytes w, const int8_t* x) {
    sum = vdotq_s32(sum, vreinterpretq_s8_u8(w), four(x));
  }
  static I finish(ByteSum sum) { return sum; }

  static Signed prepare_signed(Bytes w) { return vreinterpretq_s8_u8(w); }
  static void dot_signed(I& sum, Signed w, const int8_t* x) { sum = vdotq_s32(sum, w, four(x)); }
  static I finish_signed(I sum, int32_t /*x_sum*/) { return sum; }
};

}  // namespace troupe::cpu
