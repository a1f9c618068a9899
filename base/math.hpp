// The transcendental functions whose results reach an output: our own, because libm differs between
// versions and CPUs (docs/numerics.md section 1). cpu/simd_math.hpp runs the same steps on lanes.
#pragma once

#include <cstdint>

namespace troupe {

/// Constants of the float exponential: e^x = 2^n e^r with n = round(x / ln 2), then a polynomial.
namespace exp_constants {
inline constexpr float lowest = -104.0f;  ///< e^x is 0 below
inline constexpr float highest = 89.0f;   ///< e^x is infinite above
inline constexpr float log2_e = 0x1.715476p+0f;
inline constexpr float rounder =
    0x1.8p23f;  ///< adding it leaves the nearest integer in the low bits
inline constexpr float ln2_high = 0x1.62e4p-1f;  ///< 15 bits, so that n * ln2_high is exact
inline constexpr float ln2_low = 0x1.7f7d1cp-20f;
inline constexpr int num_terms = 8;
/// 1 / 7!, 1 / 6!, ..., 1 / 1!, 1 / 0!: the order of Horner's rule.
inline constexpr float terms[num_terms] = {
    1.0f / 5040.0f, 1.0f / 720.0f, 1.0f / 120.0f, 1.0f / 24.0f, 1.0f / 6.0f, 0.5f, 1.0f, 1.0f};
}  // namespace exp_constants

/// e^x, within 2 units in the last place; denormal results are kept.
float exp_fixed(float x);
/// Natural logarithm of x >= 0, rounded once from a double: log(0) = -inf, NaN below zero.
float log_fixed(float x);
/// x / (1 + e^-x).
float silu_fixed(float x);
/// Sine and cosine of |x| <= 2^25, in double, within 2^-50.
void sin_cos_fixed(double x, double& sine, double& cosine);

/// True when this thread neither flushes denormal results nor treats denormal inputs as zero.
bool denormals_are_kept();
/// Ends the process with a sentence if they are not kept: every result would be in doubt.
void require_denormals(const char* where);

}  // namespace troupe
