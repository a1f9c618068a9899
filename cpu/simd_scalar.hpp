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
  // Tiles of the matrix kernels: as many sums as the registers hold.
  static constexpr int strip_tile_tokens = 4;
  static constexpr int float_tile_tokens = 4;
  static constexpr bool signed_whole_panel = true;  ///< Q8_0: all 16 rows at once
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
  static F load_bf16(const uint16_t* p) {
    return each<F>([=](int i) { return std::bit_cast<float>(uint32_t{p[i]} << 16); });
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
  /// Over the 16 virtual lanes: (l, l + 8), (l, l + 4), (l, l + 2), (l, l + 1).
  static float sum_of_lanes(const F* part) {
    F lanes = *part;
    for (int step = width / 2; step > 0; step /= 2) {
      for (int i = 0; i < step; ++i) lanes.v[i] = lanes.v[i] + lanes.v[i + step];
    }
    return lanes.v[0];
  }
  static float max_of_lanes(const F* part) {
    F lanes = *part;
    for (int step = width / 2; step > 0; step /= 2) {
      for (int i = 0; i < step; ++i) {
        lanes.v[i] = lanes.v[i] > lanes.v[i + step] ? lanes.v[i] : lanes.v[i + step];
      }
    }
    return lanes.v[0];
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
  static I load_ints(const uint8_t* p) {
    return each<I>([=](int i) { return p[i]; });
  }
  static I load_ints(const int8_t* p) {
    return each<I>([=](int i) { return p[i]; });
  }
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
  static int32_t highest_lane(const I& a) {
    int32_t highest = a.v[0];
    for (const int32_t lane : a.v) highest = lane > highest ? lane : highest;
    return highest;
  }
  static int32_t sum_of_ints(const I& a) {
    int32_t sum = 0;
    for (const int32_t lane : a.v) sum += lane;
    return sum;
  }
  /// 32 integers in -128..127 as bytes; `a` points to 32 / width vectors.
  static void store_block(int8_t* p, const I* a) {
    for (int i = 0; i < 32; ++i) p[i] = static_cast<int8_t>(a[i / width].v[i % width]);
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
  static void store_bytes(uint8_t* p, const Bytes& a) { std::memcpy(p, a.v, sizeof a.v); }
  static Bytes low_nibbles(Bytes a) {
    for (uint8_t& byte : a.v) byte &= 15;
    return a;
  }
  static Bytes high_nibbles(Bytes a) {
    for (uint8_t& byte : a.v) byte = static_cast<uint8_t>(byte >> 4);
    return a;
  }

  static Bytes or_bytes(Bytes a, const Bytes& b) {
    for (int i = 0; i < 4 * width; ++i) a.v[i] |= b.v[i];
    return a;
  }
  /// The bits of each byte moved up by `up` (down where it is negative), those of `mask` kept.
  template <int up>
  static Bytes move_bits(Bytes a, int mask) {
    for (uint8_t& byte : a.v) {
      byte = static_cast<uint8_t>((up >= 0 ? byte << (up & 7) : byte >> (-up & 7)) & mask);
    }
    return a;
  }
  /// values[code] for codes 0..15.
  static Bytes look_up(const int8_t* values, Bytes codes) {
    for (uint8_t& byte : codes.v) byte = static_cast<uint8_t>(values[byte]);
    return codes;
  }

  /// Sum of weights without sign times activations -127..127, chunk by chunk: the j-th call is
  /// given `j`, and after a multiple of `run` calls, each `run` of which fit into 16 bits, finish
  /// gives the sum.
  using ByteSum = I;
  static ByteSum byte_sum() { return set_int(0); }
  template <int run>
  static void dot_bytes(ByteSum& sum, int /*j*/, const Bytes& w, const int8_t* x) {
    for (int i = 0; i < width; ++i) {
      for (int k = 0; k < 4; ++k) sum.v[i] += int32_t{w.v[4 * i + k]} * x[k];
    }
  }
  static I finish(const ByteSum& sum) { return sum; }

  static Signed prepare_signed(const Bytes& w) { return w; }
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
