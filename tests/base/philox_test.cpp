#include "base/philox.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>

using namespace troupe;

TEST_CASE("philox gives the known answers of its authors") {
  CHECK(philox(0, {0, 0, 0, 0}) == PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox(UINT64_MAX, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}) ==
        PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox(0x299f31d0a4093822u, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
        PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a draw depends on seed, position, choice and purpose, and on nothing before it") {
  const float draw = philox_uniform(1, 2, 3, DrawPurpose::target);
  CHECK(philox_uniform(1, 2, 3, DrawPurpose::target) == draw);
  CHECK(philox_uniform(2, 2, 3, DrawPurpose::target) != draw);
  CHECK(philox_uniform(1, 3, 3, DrawPurpose::target) != draw);
  CHECK(philox_uniform(1, 2, 4, DrawPurpose::target) != draw);
  CHECK(philox_uniform(1, 2, 3, DrawPurpose::draft) != draw);
}

TEST_CASE("draws are uniform in [0, 1) with the resolution of 24 bits") {
  double sum = 0;
  std::array<int, 16> buckets{};
  constexpr uint32_t count = 64000;
  for (uint32_t position = 0; position < count; ++position) {
    const float draw = philox_uniform(42, position, 0, DrawPurpose::target);
    REQUIRE(draw >= 0.0f);
    REQUIRE(draw < 1.0f);
    REQUIRE(draw * 0x1p24f == static_cast<float>(static_cast<uint32_t>(draw * 0x1p24f)));
    sum += static_cast<double>(draw);
    ++buckets[static_cast<size_t>(draw * 16)];
  }
  CHECK(sum / count == doctest::Approx(0.5).epsilon(0.01));
  // 4000 expected in each, standard deviation 61.
  for (const int bucket : buckets) {
    CHECK(bucket > 3700);
    CHECK(bucket < 4300);
  }
}
