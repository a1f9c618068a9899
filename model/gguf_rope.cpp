#include "model/gguf_rope.hpp"

#include <cstring>

#include "base/concat.hpp"
#include "model/ggml_types.hpp"
#include "model/gguf_fields.hpp"
#include "model/limits.hpp"
#include "model/quoted.hpp"
#include "model/rope_frequencies.hpp"
#include "model/tensor.hpp"

namespace troupe::model {
namespace {

constexpr const char* factors_name = "rope_freqs.weight";

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

/// The linear scaling's factor; 1 where there is none.
Result<double> read_linear_factor(const GgufFile& file, const std::string& prefix) {
  TROUPE_ASSIGN(const auto type, find_text(file, prefix + "scaling.type"));
  TROUPE_ASSIGN(const auto factor, find_float(file, prefix + "scaling.factor"));
  TROUPE_ASSIGN(const auto old_factor, find_float(file, prefix + "scale_linear"));
  if (type && *type != "none" && *type != "linear") {
    return error(Code::unsupported, concat("the rope scaling type is ", quoted(*type)),
                 "supported: none, linear, and factors in rope_freqs.weight");
  }
  if (type && *type == "none") return 1.0;
  // A factor of 0 means "none" in files of older converters.
  const double value = factor.value_or(old_factor.value_or(1.0));
  if (value == 0.0) return 1.0;
  if (!(value >= 1.0 / limits::rope_scale_max && value <= limits::rope_scale_max)) {
    return error(Code::corrupt, concat("the rope scaling factor is ", value),
                 concat("a positive number up to ", limits::rope_scale_max));
  }
  return value;
}

Status divide_by_factors(const GgufFile& file, std::vector<double>& frequencies) {
  const GgufTensor* tensor = file.tensor(factors_name);
  if (tensor == nullptr) return {};
  if (tensor->type != static_cast<uint32_t>(TensorType::f32)) {
    return error(Code::unsupported,
                 concat("tensor ", factors_name, " has the type ", ggml_type_name(tensor->type)),
                 "supported for this tensor: F32");
  }
  if (tensor->data.size() != frequencies.size() * sizeof(float)) {
    return error(
        Code::corrupt,
        concat("tensor ", factors_name, " has ", tensor->data.size() / sizeof(float), " elements"),
        concat(frequencies.size(), ", one per rotated pair"));
  }
  for (size_t i = 0; i < frequencies.size(); ++i) {
    float factor;
    std::memcpy(&factor, tensor->data.data() + i * sizeof(float), sizeof(float));
    const double value = factor;
    if (!(value >= 1.0 / limits::rope_scale_max && value <= limits::rope_scale_max)) {
      return error(Code::corrupt, concat("element ", i, " of tensor ", factors_name, " is ", value),
                   concat("a positive number up to ", limits::rope_scale_max));
    }
    frequencies[i] /= value;
  }
  return {};
}

}  // namespace

Result<RopeConfig> read_rope(const GgufFile& file, const std::string& architecture,
                             uint32_t head_dim) {
  const std::string prefix = architecture + ".rope.";
  RopeConfig rope;
  // Converters permute the rows of Q and K of llama files so that pairs are neighbours.
  rope.pairing = RopePairing::norm;
  TROUPE_ASSIGN(rope.base, read_base(file, prefix + "freq_base"));
  TROUPE_ASSIGN(rope.dim, read_dim(file, prefix + "dimension_count", head_dim));
  TROUPE_ASSIGN(const double factor, read_linear_factor(file, prefix));
  rope.inverse_frequency = rope_inverse_frequencies(rope.base, rope.dim);
  for (double& frequency : rope.inverse_frequency) frequency /= factor;
  TROUPE_TRY(divide_by_factors(file, rope.inverse_frequency));
  return rope;
}

}  // namespace troupe::model
