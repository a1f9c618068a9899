#include "base/math.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

using namespace troupe;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Distance in units in the last place of `expected`.
double ulps(float actual, double expected) {
  const auto rounded = static_cast<float>(expected);
  if (rounded == actual) return 0;
  const float next = std::nextafter(std::fabs(rounded), infinity);
  return std::fabs(static_cast<double>(actual) - expected) /
         (static_cast<double>(next) - std::fabs(static_cast<double>(rounded)));
}

}  // namespace

TEST_CASE("exp is within two units in the last place, from denormals to the overflow") {
  double worst = 0;
  for (double x = -103.5; x < 88.72; x += 0.00317) {
    const auto in = static_cast<float>(x);
    worst = std::max(worst, ulps(exp_fixed(in), std::exp(static_cast<double>(in))));
  }
  CHECK(worst < 2.0);
  CHECK(exp_fixed(0.0f) == 1.0f);
  CHECK(exp_fixed(-0.0f) == 1.0f);
  CHECK(exp_fixed(-infinity) == 0.0f);
  CHECK(exp_fixed(-104.0f) == 0.0f);
  CHECK(exp_fixed(-103.0f) == std::numeric_limits<float>::denorm_min());
  CHECK(exp_fixed(88.8f) == infinity);
  CHECK(exp_fixed(infinity) == infinity);
  CHECK(std::isnan(exp_fixed(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("log is the double logarithm, rounded") {
  for (uint32_t bits = 1; bits < 0x7f800000u; bits += 99991) {
    const auto x = std::bit_cast<float>(bits);
    CHECK(ulps(log_fixed(x), std::log(static_cast<double>(x))) <= 0.5001);
  }
  CHECK(log_fixed(1.0f) == 0.0f);
  CHECK(log_fixed(0.0f) == -infinity);
  CHECK(log_fixed(infinity) == infinity);
  CHECK(std::isnan(log_fixed(-1.0f)));
  CHECK(std::isnan(log_fixed(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("sine and cosine hold for every angle of a long context") {
  double worst = 0;
  for (double x = -10.0; x < 2.1e6; x = x * 1.0003 + 0.0371) {
    double sine, cosine;
    sin_cos_fixed(x, sine, cosine);
    worst = std::max(worst,
                     std::fabs(sine - static_cast<double>(std::sin(static_cast<long double>(x)))));
    worst = std::max(
        worst, std::fabs(cosine - static_cast<double>(std::cos(static_cast<long double>(x)))));
    if (x < 0) x = -x;
  }
  CHECK(worst < 0x1p-50);
  double sine, cosine;
  sin_cos_fixed(0.0, sine, cosine);
  CHECK(sine == 0.0);
  CHECK(cosine == 1.0);
}

TEST_CASE("silu is x over one plus e to the minus x") {
  CHECK(silu_fixed(0.0f) == 0.0f);
  CHECK(silu_fixed(200.0f) == 200.0f);
  CHECK(silu_fixed(-200.0f) == 0.0f);
  CHECK(silu_fixed(1.0f) == doctest::Approx(0.7310585786));
}

TEST_CASE("denormals are kept") {
  CHECK(denormals_are_kept());
}
