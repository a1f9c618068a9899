#include "model/gguf_rope.hpp"

#include <cstring>

#include "base/concat.hpp"
#include "model/ggml_types.hpp"
#include "model/gguf_fields.hpp"
#include "model/limits.hpp"
#include "model/quoted.hpp"
#include "model/rope.hpp"
#include "model/tensor.hpp"

namespace troupe::model {
namespace {

Result<double> read_base(const GgufFile& file, const std::string& key) {
  TROUPE_ASSIGN(const auto base, find_float(file, key));
  const double value = base.value_or(10000.0);
  if (!(value > 1.0 && value <= limits::rope_base_max)) {
    return error(Code::corrupt, concat("the metadata key ", key, " is ", value),
                 concat("a number above 1 and at most ", limits::rope_base_max));
  }
  return value;
}

Result<uint32_t> read_dim(const GgufFile& file, const std::string& key, uint32_t head_dim) {
  TROUPE_ASSIGN(const auto dim, find_unsigned(file, key));
  const uint64_t value = dim.value_or(head_dim);
  if (value == 0 || value % 2 != 0 || value > head_dim) {
    return error(Code::corrupt, concat("the metadata key ", key, " is ", value),
                 concat("an even number from 2 to the ", head_dim, " elements of a head"));
  }
  return static_cast<uint32_t>(value);
}

/// The scaling's name and factor; a factor of 0 means "none" in files of older converters.
Status read_scaling(const GgufKeys& keys, RopeSpec& spec) {
  TROUPE_ASSIGN(const auto type, find_text(keys.file(), keys.key("rope.scaling.type")));
  TROUPE_ASSIGN(const auto factor, keys.real("rope.scaling.factor"));
  TROUPE_ASSIGN(const auto old_factor, keys.real("rope.scale_linear"));
  const double value = factor.value_or(old_factor.value_or(1.0));
  if (type && *type != "none" && *type != "linear" && *type != "yarn" && *type != "longrope") {
    return error(Code::unsupported, concat("the rope scaling type is ", quoted(*type)),
                 "supported: none, linear, yarn, longrope, and factors in rope_freqs.weight");
  }
  if ((type && *type == "none") || value == 0.0) return {};
  if (!(value >= 1.0 / limits::rope_scale_max && value <= limits::rope_scale_max)) {
    return error(Code::corrupt, concat("the rope scaling factor is ", value),
                 concat("a positive number up to ", limits::rope_scale_max));
  }
  spec.factor = value;
  spec.scaling = type && *type == "yarn" ? RopeScaling::yarn : RopeScaling::linear;
  return {};
}

/// What yarn and longrope need beyond the factor.
Status read_stretch(const GgufKeys& keys, RopeSpec& spec) {
  TROUPE_ASSIGN(const uint32_t original, keys.number_or("rope.scaling.original_context_length",
                                                        spec.context, limits::context_max));
  spec.original_context = original;
  TROUPE_ASSIGN(const auto attention, keys.real("rope.scaling.attn_factor"));
  if (attention.value_or(0.0) != 0.0) spec.attention_factor = *attention;
  TROUPE_ASSIGN(const auto fast, keys.real("rope.scaling.yarn_beta_fast"));
  TROUPE_ASSIGN(const auto slow, keys.real("rope.scaling.yarn_beta_slow"));
  spec.beta_fast = fast.value_or(spec.beta_fast);
  spec.beta_slow = slow.value_or(spec.beta_slow);
  return {};
}

Result<std::vector<double>> read_factors(const GgufFile& file, const char* name, uint32_t count) {
  const GgufTensor* tensor = file.tensor(name);
  if (tensor == nullptr) return std::vector<double>();
  if (tensor->type != static_cast<uint32_t>(TensorType::f32)) {
    return error(Code::unsupported,
                 concat("tensor ", name, " has the type ", ggml_type_name(tensor->type)),
                 "supported for this tensor: F32");
  }
  if (tensor->data.size() != count * sizeof(float)) {
    return error(Code::corrupt,
                 concat("tensor ", name, " has ", tensor->data.size() / sizeof(float), " elements"),
                 concat(count, ", one per rotated pair"));
  }
  std::vector<double> factors;
  for (uint32_t i = 0; i < count; ++i) {
    float factor;
    std::memcpy(&factor, tensor->data.data() + i * sizeof(float), sizeof(float));
    const double value = factor;
    if (!(value >= 1.0 / limits::rope_scale_max && value <= limits::rope_scale_max)) {
      return error(Code::corrupt, concat("element ", i, " of tensor ", name, " is ", value),
                   concat("a positive number up to ", limits::rope_scale_max));
    }
    factors.push_back(value);
  }
  return factors;
}

/// Latent attention is scaled by (1 + multiplier * ln(factor))^2, and cosines are not.
Status scale_latent(const GgufKeys& keys, RopeSpec& spec, ModelConfig& config) {
  if (config.latent.kv_rank == 0 || spec.scaling != RopeScaling::yarn) return {};
  spec.attention_factor = 1.0;
  TROUPE_ASSIGN(const auto multiplier, keys.real("rope.scaling.yarn_log_multiplier"));
  if (multiplier.value_or(0.0) == 0.0) return {};
  const double scale = yarn_scale(spec.factor, *multiplier * 10.0);
  config.attention_scale = static_cast<float>(config.attention_scale * scale * scale);
  return {};
}

}  // namespace

Status read_gguf_rope(const GgufKeys& keys, const Family& family, uint32_t rotated,
                      ModelConfig& config) {
  RopeSpec spec;
  spec.pairing = family.gguf_pairing;
  spec.context = config.context_max;
  spec.truncate = family.gguf_yarn_truncates;
  TROUPE_ASSIGN(spec.base, read_base(keys.file(), keys.key("rope.freq_base")));
  spec.dim = rotated;
  if (rotated == 0) {
    TROUPE_ASSIGN(spec.dim,
                  read_dim(keys.file(), keys.key("rope.dimension_count"), config.head_dim));
  }
  TROUPE_TRY(read_scaling(keys, spec));
  TROUPE_TRY(read_stretch(keys, spec));
  TROUPE_ASSIGN(spec.short_factors,
                read_factors(keys.file(), "rope_factors_short.weight", spec.dim / 2));
  TROUPE_ASSIGN(spec.long_factors,
                read_factors(keys.file(), "rope_factors_long.weight", spec.dim / 2));
  if (!spec.long_factors.empty()) {
    spec.scaling = RopeScaling::longrope;
    if (!spec.attention_factor) {
      spec.factor = static_cast<double>(spec.context) / spec.original_context;
    }
  }
  TROUPE_TRY(scale_latent(keys, spec, config));
  TROUPE_ASSIGN(config.rope, make_rope(spec));
  TROUPE_ASSIGN(const auto factors, read_factors(keys.file(), "rope_freqs.weight", spec.dim / 2));
  for (size_t i = 0; i < factors.size(); ++i) config.rope.inverse_frequency[i] /= factors[i];
  if (!family.local_rope) return {};
  RopeSpec local;
  local.pairing = spec.pairing;
  local.dim = spec.dim;
  TROUPE_ASSIGN(const auto local_base, keys.real("rope.freq_base_swa"));
  local.base = local_base.value_or(local.base);
  TROUPE_ASSIGN(config.local_rope, make_rope(local));
  return {};
}

}  // namespace troupe::model
