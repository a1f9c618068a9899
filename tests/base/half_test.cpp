#include "base/half.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

using namespace troupe;

namespace {

/// The nearest half by comparing distances with both neighbours, ties to the even one.
uint16_t nearest_by_search(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::abs(static_cast<double>(value));
  uint16_t low = 0;
  uint16_t high = 0x7c00;
  while (high - low > 1) {
    const auto middle = static_cast<uint16_t>((low + high) / 2);
    (static_cast<double>(half_to_float(middle)) <= magnitude ? low : high) = middle;
  }
  // Infinity counts as the next value after 65504 when rounding.
  const double above = high == 0x7c00 ? 65536.0 : static_cast<double>(half_to_float(high));
  const double to_low = magnitude - static_cast<double>(half_to_float(low));
  const double to_high = above - magnitude;
  const bool up = to_high < to_low || (to_high == to_low && (low & 1) != 0);
  return static_cast<uint16_t>(sign | (up ? high : low));
}

}  // namespace

TEST_CASE("every half survives the way to float and back") {
  for (uint32_t h = 0; h <= 0xffff; ++h) {
    const auto half = static_cast<uint16_t>(h);
    const bool nan = (h & 0x7c00) == 0x7c00 && (h & 0x3ff) != 0;
    REQUIRE(float_to_half(half_to_float(half)) == (nan ? (half | 0x200) : half));
  }
}

TEST_CASE("known halves") {
  CHECK(half_to_float(0x3c00) == 1.0f);
  CHECK(half_to_float(0xc000) == -2.0f);
  CHECK(half_to_float(0x7bff) == 65504.0f);
  CHECK(half_to_float(0x0001) == 0x1p-24f);
  CHECK(half_to_float(0x0400) == 0x1p-14f);
  CHECK(half_to_float(0x7c00) == std::numeric_limits<float>::infinity());
  CHECK(std::signbit(half_to_float(0x8000)));
  CHECK(float_to_half(65519.0f) == 0x7bff);
  CHECK(float_to_half(65520.0f) == 0x7c00);
  CHECK(float_to_half(-1e30f) == 0xfc00);
  CHECK(float_to_half(0x1p-25f) == 0);
  CHECK(float_to_half(std::nextafter(0x1p-25f, 1.0f)) == 1);
  CHECK((float_to_half(std::numeric_limits<float>::quiet_NaN()) & 0x7e00) == 0x7e00);
}

TEST_CASE("rounding is to the nearest, ties to even, over the whole range") {
  for (uint32_t h = 0; h < 0x7c00; ++h) {
    const float here = half_to_float(static_cast<uint16_t>(h));
    const float next = h == 0x7bff ? 65536.0f : half_to_float(static_cast<uint16_t>(h + 1));
    const float middle = here + (next - here) / 2;
    for (const float value :
         {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e30f)}) {
      REQUIRE(float_to_half(value) == nearest_by_search(value));
      REQUIRE(float_to_half(-value) == nearest_by_search(-value));
    }
  }
}
