// The scalings of rope by hand: numbers of a calculator, not of this code.
#include "model/rope.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace troupe;
using model::RopeConfig;
using model::RopeScaling;
using model::RopeSpec;

namespace {

RopeSpec spec_of(RopeScaling scaling) {
  RopeSpec spec;
  spec.dim = 8;
  spec.base = 10000.0;  // frequencies 1, 0.1, 0.01, 0.001
  spec.scaling = scaling;
  spec.context = 4096;
  spec.original_context = 1024;
  spec.factor = 4.0;
  return spec;
}

RopeConfig made(const RopeSpec& spec) {
  auto rope = model::make_rope(spec);
  if (!rope.ok()) FAIL(rope.error().message());
  return *rope;
}

void check_frequencies(const RopeConfig& rope, std::initializer_list<double> expected) {
  REQUIRE(rope.inverse_frequency.size() == expected.size());
  size_t i = 0;
  for (const double value : expected) {
    CHECK(rope.inverse_frequency[i++] == doctest::Approx(value).epsilon(1e-9));
  }
}

void check_bad(const RopeSpec& spec, const std::string& what) {
  const auto rope = model::make_rope(spec);
  REQUIRE(!rope.ok());
  CHECK(rope.error().code == Code::corrupt);
  CHECK(rope.error().what.find(what) != std::string::npos);
  CHECK(!rope.error().hint.empty());
}

}  // namespace

TEST_CASE("none and linear") {
  check_frequencies(made(spec_of(RopeScaling::none)), {1.0, 0.1, 0.01, 0.001});
  check_frequencies(made(spec_of(RopeScaling::linear)), {0.25, 0.025, 0.0025, 0.00025});
}

TEST_CASE("dynamic NTK stretches the base by the served context") {
  RopeSpec spec = spec_of(RopeScaling::dynamic);
  spec.context = 1024;
  RopeConfig rope = made(spec);
  // Within the original context nothing changes.
  check_frequencies(rope, {1.0, 0.1, 0.01, 0.001});
  // 4 * 2048 / 1024 - 3 = 5; base 10000 * 5^(8/6) = 85498.797333835; its -1/4, -1/2, -3/4 powers.
  model::resolve_rope(rope, 2048);
  check_frequencies(rope, {1.0, 0.0584803547643, 0.00341995189335, 0.0002});
  model::resolve_rope(rope, 512);
  check_frequencies(rope, {1.0, 0.1, 0.01, 0.001});
}

TEST_CASE("longrope takes its long factors exactly when the served context exceeds the original") {
  RopeSpec spec = spec_of(RopeScaling::longrope);
  spec.short_factors = {1.0, 1.0, 2.0, 2.0};
  spec.long_factors = {1.0, 4.0, 8.0, 16.0};
  RopeConfig rope = made(spec);
  check_frequencies(rope, {1.0, 0.025, 0.00125, 0.0000625});
  // sqrt(1 + ln 4 / ln 1024) = sqrt(1.2).
  CHECK(rope.attention_factor == doctest::Approx(1.095445115010332).epsilon(1e-12));
  model::resolve_rope(rope, 1024);
  check_frequencies(rope, {1.0, 0.1, 0.005, 0.0005});
  model::resolve_rope(rope, 1025);
  check_frequencies(rope, {1.0, 0.025, 0.00125, 0.0000625});
  spec.long_factors.pop_back();
  check_bad(spec, "3 factors");
  spec.long_factors = {1.0, 0.0, 8.0, 16.0};
  check_bad(spec, "longrope factor is 0");
}

TEST_CASE("yarn blends between the dimensions of two numbers of rotations") {
  RopeSpec spec = spec_of(RopeScaling::yarn);
  // Dimensions where 32 and 1 rotations fit: 8 ln(1024 / (2 pi r)) / (2 ln 10000): 0.707 and 2.212,
  // so the bounds are 0 and 3; ramps 0, 1/3, 2/3, 1.
  RopeConfig rope = made(spec);
  check_frequencies(rope, {1.0, 0.075, 0.005, 0.00025});
  CHECK(rope.attention_factor == doctest::Approx(1.1386294361119891).epsilon(1e-12));
  spec.mscale = spec.mscale_all_dim = 1.0;
  CHECK(made(spec).attention_factor == 1.0);
  spec.truncate = false;
  CHECK(made(spec).inverse_frequency[1] == doctest::Approx(0.08539863663460479).epsilon(1e-9));
  spec.attention_factor = 1.5;
  CHECK(made(spec).attention_factor == 1.5);
}

TEST_CASE("llama3 leaves short waves, divides long ones and blends between") {
  RopeSpec spec = spec_of(RopeScaling::llama3);
  // Wavelengths 6.28, 62.8, 628, 6283 against 1024 / 4 and 1024 / 1:
  // the third is blended by (1024 / 628.3 - 1) / 3 = 0.2099155.
  check_frequencies(
      made(spec),
      {1.0, 0.1, 0.01 * (0.25 * (1 - 0.20991553908700275) + 0.20991553908700275), 0.00025});
}

TEST_CASE("numbers that cannot be") {
  RopeSpec spec = spec_of(RopeScaling::linear);
  spec.factor = 0.0;
  check_bad(spec, "factor is 0");
  spec = spec_of(RopeScaling::none);
  spec.dim = 7;
  check_bad(spec, "7 elements");
  spec = spec_of(RopeScaling::none);
  spec.base = NAN;
  check_bad(spec, "base");
  spec = spec_of(RopeScaling::yarn);
  spec.original_context = 0;
  check_bad(spec, "no original context");
  spec = spec_of(RopeScaling::yarn);
  spec.beta_slow = -1.0;
  check_bad(spec, "betas");
  spec = spec_of(RopeScaling::llama3);
  spec.high_frequency = spec.low_frequency;
  check_bad(spec, "frequency factors");
  CHECK(model::rope_scaling_named("ntk").error().code == Code::unsupported);
}
