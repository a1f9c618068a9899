#include "model/kernel_type.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/half.hpp"
#include "model/block_bytes.hpp"

namespace troupe::model {
namespace {

constexpr uint32_t quant_elements = 32;  // of Q8_0
constexpr size_t q8_0_bytes = 34;

/// What every value of the 32 at `index` is a multiple of; 0 where the format has no such number.
float step_of(TensorType type, const std::byte* stored, uint32_t index) {
  switch (type) {
    case TensorType::tq1_0:
      return half_at(stored + size_t{index} / 8 * 54 + 52);
    case TensorType::tq2_0:
      return half_at(stored + size_t{index} / 8 * 66 + 64);
    default:
      return 0.0f;
  }
}

bool all_multiples(const float* values, float step) {
  return std::all_of(values, values + quant_elements, [step](float value) {
    const float code = std::nearbyint(value / step);
    return std::fabs(code) <= 127.0f && std::fabs(value - code * step) <= std::fabs(step) * 0.125f;
  });
}

void convert_row(const Tensor& tensor, uint32_t row, std::byte* out) {
  std::vector<std::byte> scratch;
  const std::byte* stored = stored_row(tensor, row, scratch);
  const TensorType to = kernel_type(tensor.type);
  std::vector<float> values(tensor.cols);
  dequantize_row(tensor, row, values.data());
  if (to == TensorType::q8_0) {
    for (uint32_t i = 0; i < tensor.cols / quant_elements; ++i, out += q8_0_bytes) {
      quantize_q8_0_block(&values[size_t{i} * quant_elements], step_of(tensor.type, stored, i),
                          out);
    }
  } else if (to == TensorType::f32) {
    std::memcpy(out, values.data(), values.size() * sizeof(float));
  } else {
    for (uint32_t i = 0; i < tensor.cols; ++i) {
      const uint16_t bits = float_to_bf16(values[i]);
      std::memcpy(out + size_t{i} * sizeof bits, &bits, sizeof bits);
    }
  }
}

}  // namespace

TensorType kernel_type(TensorType type) {
  switch (type) {
    case TensorType::f32:
    case TensorType::f16:
    case TensorType::bf16:
    case TensorType::q8_0:
    case TensorType::q4_0:
    case TensorType::q4_1:
    case TensorType::q5_0:
    case TensorType::q5_1:
    case TensorType::q4_k:
    case TensorType::q5_k:
    case TensorType::q6_k:
    case TensorType::iq4_nl:
    case TensorType::iq4_xs:
    case TensorType::mxfp4:
      return type;
    case TensorType::f8_e4m3:
    case TensorType::f8_e5m2:
    case TensorType::scaled_f8:
      return TensorType::bf16;
    case TensorType::f64:
      return TensorType::f32;
    default:
      return TensorType::q8_0;
  }
}

uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

void quantize_q8_0_block(const float* values, float step, std::byte* out) {
  uint16_t scale_bits = float_to_half(step);
  float scale = half_to_float(scale_bits);
  if (scale == 0.0f || !std::isfinite(scale) || !all_multiples(values, scale)) {
    float largest = 0.0f;
    for (uint32_t i = 0; i < quant_elements; ++i) {
      largest = std::max(largest, std::fabs(values[i]));
    }
    scale_bits = float_to_half(largest / 127.0f);
    scale = half_to_float(scale_bits);
    // A scale that F16 rounded down so far that the largest value would be cut.
    if (largest > 127.5f * scale && scale_bits < 0x7bffu) scale = half_to_float(++scale_bits);
  }
  std::memcpy(out, &scale_bits, sizeof scale_bits);
  for (uint32_t i = 0; i < quant_elements; ++i) {
    const float code = scale == 0.0f ? 0.0f : std::nearbyint(values[i] / scale);
    out[2 + i] = static_cast<std::byte>(
        static_cast<int8_t>(std::clamp(std::isnan(code) ? 0.0f : code, -127.0f, 127.0f)));
  }
}

Tensor as_kernel_type(const Tensor& tensor) {
  const TensorType type = kernel_type(tensor.type);
  if (type == tensor.type) return tensor;
  Tensor converted = tensor;
  converted.type = type;
  converted.data = nullptr;
  converted.read_row = std::make_shared<const ReadRow>(
      [tensor](uint32_t row, std::byte* out) { convert_row(tensor, row, out); });
  return converted;
}

}  // namespace troupe::model
