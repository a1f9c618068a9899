#include "model/rope_frequencies.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

using troupe::model::power;
using troupe::model::rope_inverse_frequencies;

TEST_CASE("power agrees with long double to half a unit in the last place") {
  long double worst = 0.0L;
  for (const double base :
       {1.0000001, 1.5, 2.0, 10.0, 10000.0, 100000.0, 500000.0, 1e6, 8e6, 1e15}) {
    for (int i = -512; i <= 512; ++i) {
      const double exponent = i / 511.0;
      const long double exact =
          std::pow(static_cast<long double>(base), static_cast<long double>(exponent));
      const long double error = (static_cast<long double>(power(base, exponent)) - exact) / exact;
      worst = std::max(worst, std::fabs(error));
    }
  }
  CHECK(worst < 0x1.01p-53L);
}

TEST_CASE("power is exact where the result is") {
  CHECK(power(10000.0, 0.0) == 1.0);
  CHECK(power(10000.0, 1.0) == 10000.0);
  CHECK(power(10000.0, -0.5) == 0.01);
  CHECK(power(2.0, -1021.0) == 0x1p-1021);
  CHECK(power(2.0, 20.0) == 1048576.0);
  CHECK(power(0.25, 0.5) == 0.5);
  CHECK(power(10.0, 400.0) == std::numeric_limits<double>::infinity());
  CHECK(power(10.0, -400.0) == 0.0);
}

TEST_CASE("inverse frequencies fall from 1") {
  const auto frequencies = rope_inverse_frequencies(100000.0, 64);
  REQUIRE(frequencies.size() == 32);
  CHECK(frequencies[0] == 1.0);
  CHECK(frequencies[16] == std::pow(100000.0, -0.5));
  for (size_t i = 0; i < 32; ++i) {
    const double expected = std::pow(100000.0, -static_cast<double>(2 * i) / 64.0);
    CHECK(std::fabs(frequencies[i] / expected - 1.0) < 1e-15);
  }
}
