#include "base/math.hpp"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace troupe {

float exp_fixed(float x) {
  using namespace exp_constants;
  x = highest < x ? highest : x;
  x = lowest > x ? lowest : x;
  const float shifted = std::fma(x, log2_e, rounder);
  const float n = shifted - rounder;
  float r = std::fma(n, -ln2_high, x);
  r = std::fma(n, -ln2_low, r);
  float p = terms[0];
  for (int i = 1; i < num_terms; ++i) p = std::fma(p, r, terms[i]);
  // Two factors, because 2^n alone may be denormal or infinite while the product is not.
  const int32_t exponent = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(rounder);
  const int32_t half = exponent >> 1;
  const float first = std::bit_cast<float>(static_cast<uint32_t>(half + 127) << 23);
  const float second = std::bit_cast<float>(static_cast<uint32_t>(exponent - half + 127) << 23);
  return (p * first) * second;
}

float log_fixed(float x) {
  if (x != x || x < 0.0f) return std::numeric_limits<float>::quiet_NaN();
  if (x == 0.0f) return -std::numeric_limits<float>::infinity();
  if (x == std::numeric_limits<float>::infinity()) return x;
  const uint64_t bits = std::bit_cast<uint64_t>(static_cast<double>(x));
  int64_t exponent = static_cast<int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  // log m = 2 atanh(s) with s = (m - 1) / (m + 1), |s| < 0.172.
  const double s = (m - 1.0) / (m + 1.0);
  const double square = s * s;
  double series = 0.0;
  for (int k = 21; k >= 1; k -= 2) series = series * square + 1.0 / k;
  constexpr double ln2 = 0x1.62e42fefa39efp-1;
  return static_cast<float>(static_cast<double>(exponent) * ln2 + 2.0 * s * series);
}

float silu_fixed(float x) {
  return x / (1.0f + exp_fixed(-x));
}

void sin_cos_fixed(double x, double& sine, double& cosine) {
  constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
  constexpr double rounder = 0x1.8p52;
  // pi / 2 in parts of 26 bits: their products with n <= 2^26 are exact.
  constexpr double part_1 = 0x1.921fb58p+0;
  constexpr double part_2 = -0x1.dde974p-27;
  constexpr double part_3 = 0x1.1a62633145c07p-54;
  const double n = (x * two_over_pi + rounder) - rounder;
  const double r = ((x - n * part_1) - n * part_2) - n * part_3;
  const double square = r * r;
  double s = 1.0, c = 1.0;
  for (int k = 18; k >= 2; k -= 2) {
    s = 1.0 - square * s / (k * (k + 1));
    c = 1.0 - square * c / (k * (k - 1));
  }
  s *= r;
  switch (static_cast<int64_t>(n) & 3) {
    case 0:
      sine = s;
      cosine = c;
      break;
    case 1:
      sine = c;
      cosine = -s;
      break;
    case 2:
      sine = -s;
      cosine = -c;
      break;
    default:
      sine = -c;
      cosine = s;
      break;
  }
}

bool denormals_are_kept() {
#if defined(__x86_64__)
  constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;
  return (_mm_getcsr() & (flush_to_zero | denormals_are_zero)) == 0;
#else
  volatile float smallest = std::numeric_limits<float>::denorm_min();
  volatile float sum = smallest + smallest;
  return sum != 0.0f;
#endif
}

void require_denormals(const char* where) {
  if (denormals_are_kept()) return;
  std::fprintf(stderr,
               "%s: this thread flushes denormals to zero (MXCSR.FTZ or DAZ is set), "
               "which breaks the numerics; a library changed it\n",
               where);
  std::abort();
}

}  // namespace troupe
