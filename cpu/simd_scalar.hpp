// The instruction set "scalar": vectors are arrays of 16, fma is std::fma. It defines what the
// operations mean; simd_avx2.hpp and simd_avx512.hpp offer the same names with the same bits.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/half.hpp"

namespace troupe::cpu {

struct ScalarIsa {
  static constexpr int width = 16;  ///< lanes of F and I
  struct F {
    float v[width];
  };
  struct I {
    int32_t v[width];
  };
  /// 4 bytes per lane: 4 consecutive k of each row.
  struct Bytes {
    uint8_t v[4 * width];
  };
  using Signed = Bytes;  ///< signed weights, prepared for dot_signed

  template <class Vector, class Function>
  static Vector each(Function function) {
    Vector out;
    for (int i = 0; i < width; ++i) out.v[i] = function(i);
    return out;
  }

  // --- float lanes ---------------------------------------------------------------------------
  static F set(float x) {
    return each<F>([=](int) { return x; });
  }
  static F load(const float* p) {
    return each<F>([=](int i) { return p[i]; });
  }
  static void store(float* p, const F& a) { std::memcpy(p, a.v, sizeof a.v); }
  static F load(const uint16_t* p) {
    return each<F>([=](int i) { return half_to_float(p[i]); });
  }
  static void store(uint16_t* p, const F& a) {
    for (int i = 0; i < width; ++i) p[i] = float_to_half(a.v[i]);
  }
  static float to_float(uint16_t h) { return half_to_float(h); }
  static uint16_t to_half(float x) { return float_to_half(x); }

  static F add(const F& a, const F& b) {
    return each<F>([&](int i) { return a.v[i] + b.v[i]; });
  }
  static F sub(const F& a, const F& b) {
    return each<F>([&](int i) { return a.v[i] - b.v[i]; });
  }
  static F mul(const F& a, const F& b) {
    return each<F>([&](int i) { return a.v[i] * b.v[i]; });
  }
  static F div(const F& a, const F& b) {
    return each<F>([&](int i) { return a.v[i] / b.v[i]; });
  }
  /// a * b + c, rounded once.
  static F fma(const F& a, const F& b, const F& c) {
    return each<F>([&](int i) { return std::fma(a.v[i], b.v[i], c.v[i]); });
  }
  /// a < b ? a : b, so b where one is NaN; max likewise.
  static F min(const F& a, const F& b) {
    return each<F>([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
  }
  static F max(const F& a, const F& b) {
    return each<F>([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
  }
  static float sqrt(float x) { return std::sqrt(x); }

  // --- integer lanes -------------------------------------------------------------------------
  static I set_int(int32_t x) {
    return each<I>([=](int) { return x; });
  }
  static I load_int(const int32_t* p) {
    return each<I>([=](int i) { return p[i]; });
  }
  static void store_int(int32_t* p, const I& a) { std::memcpy(p, a.v, sizeof a.v); }
  static I bits(const F& a) { return std::bit_cast<I>(a); }
  static F from_bits(const I& a) { return std::bit_cast<F>(a); }
  static F to_float(const I& a) {
    return each<F>([&](int i) { return static_cast<float>(a.v[i]); });
  }
  static I add_int(const I& a, const I& b) {
    return each<I>([&](int i) { return a.v[i] + b.v[i]; });
  }
  static I sub_int(const I& a, const I& b) {
    return each<I>([&](int i) { return a.v[i] - b.v[i]; });
  }
  static I and_int(const I& a, const I& b) {
    return each<I>([&](int i) { return a.v[i] & b.v[i]; });
  }
  static I max_int(const I& a, const I& b) {
    return each<I>([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
  }
  /// Arithmetic shift right by one.
  static I halve(const I& a) {
    return each<I>([&](int i) { return a.v[i] >> 1; });
  }
  /// The float 2^a; -126 <= a <= 127.
  static F power_of_two(const I& a) {
    return each<F>(
        [&](int i) { return std::bit_cast<float>(static_cast<uint32_t>(a.v[i] + 127) << 23); });
  }

  // --- 8-bit products; x points to 4 activations of one token -------------------------------
  static Bytes load_bytes(const uint8_t* p) {
    Bytes out;
    std::memcpy(out.v, p, sizeof out.v);
    return out;
  }
  static Bytes low_nibbles(Bytes a) {
    for (uint8_t& byte : a.v) byte &= 15;
    return a;
  }
  static Bytes high_nibbles(Bytes a) {
    for (uint8_t& byte : a.v) byte = static_cast<uint8_t>(byte >> 4);
    return a;
  }

  /// Sum over a block of 32 of weights 0..15 times activations -127..127: 8 calls of dot_nibbles.
  using NibbleSum = I;
  static NibbleSum nibble_sum() { return set_int(0); }
  static void dot_nibbles(NibbleSum& sum, const Bytes& w, const int8_t* x) {
    for (int i = 0; i < width; ++i) {
      for (int k = 0; k < 4; ++k) sum.v[i] += int32_t{w.v[4 * i + k]} * x[k];
    }
  }
  static I finish(const NibbleSum& sum) { return sum; }

  static Signed load_signed(const uint8_t* p) { return load_bytes(p); }
  /// Weights -128..127 times activations -127..127.
  static void dot_signed(I& sum, const Signed& w, const int8_t* x) {
    for (int i = 0; i < width; ++i) {
      for (int k = 0; k < 4; ++k) sum.v[i] += int32_t{static_cast<int8_t>(w.v[4 * i + k])} * x[k];
    }
  }
  /// Takes out what dot_signed added on the way; `x_sum` is the sum of the block's activations.
  static I finish_signed(const I& sum, int32_t /*x_sum*/) { return sum; }
};

}  // namespace troupe::cpu
