// AVX-VNNI: AVX2 whose 8-bit products are summed by vpdpbusd, as with AVX-512 but 8 lanes wide.
// Included by kernels_avxvnni.cpp alone.
#pragma once

#include "cpu/simd_avx2.hpp"

namespace troupe::cpu {

/// All but the products is AVX2's: what is declared here hides what is declared there.
struct AvxVnniIsa : Avx2Isa {
  using Signed = Bytes;  ///< weights + 128, unsigned

  using ByteSum = I;
  static ByteSum byte_sum() { return _mm256_setzero_si256(); }
  template <int run>
  static void dot_bytes(ByteSum& sum, int /*j*/, Bytes w, const int8_t* x) {
    sum = _mm256_dpbusd_avx_epi32(sum, w, four(x));
  }
  static I finish(ByteSum sum) { return sum; }

  static Signed prepare_signed(Bytes w) { return _mm256_xor_si256(w, _mm256_set1_epi8(-128)); }
  static void dot_signed(I& sum, Signed w, const int8_t* x) {
    sum = _mm256_dpbusd_avx_epi32(sum, w, four(x));
  }
  static I finish_signed(I sum, int32_t x_sum) { return sub_int(sum, set_int(128 * x_sum)); }
};

}  // namespace troupe::cpu
