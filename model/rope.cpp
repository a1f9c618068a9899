#include "model/rope.hpp"

#include <algorithm>
#include <cmath>

#include "base/concat.hpp"
#include "model/limits.hpp"
#include "model/quoted.hpp"
#include "model/rope_frequencies.hpp"

namespace troupe::model {
namespace {

constexpr double pi = 3.14159265358979323846;

Status check(const RopeSpec& spec) {
  const auto in_range = [](double value, double highest) {
    return value > 0.0 && value <= highest;
  };
  if (spec.dim == 0 || spec.dim % 2 != 0) {
    return error(Code::corrupt, concat("rope rotates ", spec.dim, " elements of a head"),
                 "an even number from 2 on");
  }
  if (!(spec.base > 1.0 && spec.base <= limits::rope_base_max)) {
    return error(Code::corrupt, concat("the rope base is ", spec.base),
                 concat("a number above 1 and at most ", limits::rope_base_max));
  }
  if (!in_range(spec.factor, limits::rope_scale_max)) {
    return error(Code::corrupt, concat("the rope scaling factor is ", spec.factor),
                 concat("a positive number up to ", limits::rope_scale_max));
  }
  if (spec.attention_factor && !in_range(*spec.attention_factor, limits::rope_scale_max)) {
    return error(Code::corrupt, concat("the rope attention factor is ", *spec.attention_factor),
                 concat("a positive number up to ", limits::rope_scale_max));
  }
  const bool stretched = spec.scaling == RopeScaling::yarn || spec.scaling == RopeScaling::llama3 ||
                         spec.scaling == RopeScaling::longrope ||
                         spec.scaling == RopeScaling::dynamic;
  if (stretched && spec.original_context == 0) {
    return error(Code::corrupt, "the rope scaling has no original context",
                 "original_max_position_embeddings of at least 1");
  }
  return {};
}

/// Blends interpolated and original frequencies between two rotation counts.
Status apply_yarn(const RopeSpec& spec, RopeConfig& rope) {
  const auto positive = [](double v) { return v > 0.0 && v <= limits::rope_scale_max; };
  if (!positive(spec.beta_fast) || !positive(spec.beta_slow)) {
    return error(Code::corrupt,
                 concat("yarn's betas are ", spec.beta_fast, " and ", spec.beta_slow),
                 "two positive numbers");
  }
  const auto dimension_of = [&spec](double rotations) {
    return spec.dim * logarithm(spec.original_context / (rotations * 2.0 * pi)) /
           (2.0 * logarithm(spec.base));
  };
  double low = dimension_of(spec.beta_fast), high = dimension_of(spec.beta_slow);
  if (spec.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, spec.dim - 1.0);
  if (low == high) high += 0.001;
  for (size_t i = 0; i < rope.inverse_frequency.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    const double original = rope.inverse_frequency[i];
    rope.inverse_frequency[i] = original / spec.factor * ramp + original * (1.0 - ramp);
  }
  if (spec.attention_factor) return {};
  rope.attention_factor =
      spec.mscale != 0.0 && spec.mscale_all_dim != 0.0
          ? yarn_scale(spec.factor, spec.mscale) / yarn_scale(spec.factor, spec.mscale_all_dim)
          : yarn_scale(spec.factor, 1.0);
  return {};
}

Status apply_llama3(const RopeSpec& spec, RopeConfig& rope) {
  if (!(spec.low_frequency > 0.0 && spec.high_frequency > spec.low_frequency)) {
    return error(
        Code::corrupt,
        concat("llama3's frequency factors are ", spec.low_frequency, " and ", spec.high_frequency),
        "low_freq_factor above 0 and below high_freq_factor");
  }
  for (double& frequency : rope.inverse_frequency) {
    const double wavelength = 2.0 * pi / frequency;
    if (wavelength < spec.original_context / spec.high_frequency) continue;
    if (wavelength > spec.original_context / spec.low_frequency) {
      frequency /= spec.factor;
      continue;
    }
    const double smooth = (spec.original_context / wavelength - spec.low_frequency) /
                          (spec.high_frequency - spec.low_frequency);
    frequency = (1.0 - smooth) * frequency / spec.factor + smooth * frequency;
  }
  return {};
}

Status apply_longrope(const RopeSpec& spec, RopeConfig& rope) {
  for (const std::vector<double>* factors : {&spec.short_factors, &spec.long_factors}) {
    if (factors->size() != spec.dim / 2) {
      return error(Code::corrupt, concat("longrope has ", factors->size(), " factors"),
                   concat(spec.dim / 2, ", one per rotated pair"));
    }
    for (const double factor : *factors) {
      if (factor >= 1.0 / limits::rope_scale_max && factor <= limits::rope_scale_max) continue;
      return error(Code::corrupt, concat("a longrope factor is ", factor),
                   concat("positive numbers up to ", limits::rope_scale_max));
    }
  }
  rope.short_factors = spec.short_factors;
  rope.long_factors = spec.long_factors;
  if (!spec.attention_factor && spec.factor > 1.0) {
    if (spec.original_context < 2) {
      return error(Code::corrupt, "longrope's original context is 1 token", "at least 2");
    }
    rope.attention_factor =
        std::sqrt(1.0 + logarithm(spec.factor) / logarithm(spec.original_context));
  }
  return {};
}

}  // namespace

Result<RopeScaling> rope_scaling_named(const std::string& name) {
  if (name == "default" || name == "none") return RopeScaling::none;
  if (name == "linear") return RopeScaling::linear;
  if (name == "dynamic") return RopeScaling::dynamic;
  if (name == "yarn") return RopeScaling::yarn;
  if (name == "llama3") return RopeScaling::llama3;
  if (name == "longrope" || name == "su") return RopeScaling::longrope;
  return error(Code::unsupported, concat("the rope scaling is ", model::quoted(name)),
               "supported: default, linear, dynamic, yarn, llama3, longrope");
}

Result<RopeConfig> make_rope(const RopeSpec& spec) {
  TROUPE_TRY(check(spec));
  RopeConfig rope;
  rope.pairing = spec.pairing;
  rope.dim = spec.dim;
  rope.base = spec.base;
  rope.scaling = spec.scaling;
  rope.factor = spec.factor;
  rope.original_context = spec.original_context;
  rope.attention_factor = spec.attention_factor.value_or(1.0);
  rope.inverse_frequency = rope_inverse_frequencies(spec.base, spec.dim);
  if (spec.scaling == RopeScaling::linear) {
    for (double& frequency : rope.inverse_frequency) frequency /= spec.factor;
  }
  if (spec.scaling == RopeScaling::yarn) TROUPE_TRY(apply_yarn(spec, rope));
  if (spec.scaling == RopeScaling::llama3) TROUPE_TRY(apply_llama3(spec, rope));
  if (spec.scaling == RopeScaling::longrope) TROUPE_TRY(apply_longrope(spec, rope));
  resolve_rope(rope, spec.context);
  return rope;
}

void resolve_rope(RopeConfig& rope, uint32_t context_max) {
  if (rope.scaling == RopeScaling::longrope) {
    const bool stretched = context_max > rope.original_context;
    const std::vector<double>& factors = stretched ? rope.long_factors : rope.short_factors;
    rope.inverse_frequency = rope_inverse_frequencies(rope.base, rope.dim);
    for (size_t i = 0; i < factors.size(); ++i) rope.inverse_frequency[i] /= factors[i];
  }
  if (rope.scaling == RopeScaling::dynamic && rope.dim > 2) {
    const double length = std::max(context_max, rope.original_context);
    const double stretch = rope.factor * length / rope.original_context - (rope.factor - 1.0);
    const double exponent = rope.dim / (rope.dim - 2.0);
    rope.inverse_frequency =
        rope_inverse_frequencies(rope.base * power(stretch, exponent), rope.dim);
  }
}

double yarn_scale(double factor, double mscale) {
  return factor > 1.0 ? 0.1 * mscale * logarithm(factor) + 1.0 : 1.0;
}

}  // namespace troupe::model
