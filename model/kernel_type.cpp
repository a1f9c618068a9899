#include "model/kernel_type.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/half.hpp"
#include "model/block_bytes.hpp"
#include "model/k_scales.hpp"

namespace troupe::model {
namespace {

constexpr uint32_t quant_elements = 32;  // of Q8_0, Q4_0 and Q4_1
constexpr size_t q8_0_bytes = 34;
constexpr size_t q4_1_bytes = 20;

void put_half(std::byte* at, float value) {
  const uint16_t bits = float_to_half(value);
  std::memcpy(at, &bits, sizeof bits);
}

/// What every value of the 32 at `index` is a multiple of; 0 where the format has no such number.
float step_of(TensorType type, const std::byte* stored, uint32_t index) {
  switch (type) {
    case TensorType::q5_0:
    case TensorType::iq4_nl:
      return half_at(stored + size_t{index} * info(type).block_bytes);
    case TensorType::mxfp4: {
      // The codes stand for whole multiples of half the scale.
      const uint32_t exponent = byte_at(stored, size_t{index} * info(type).block_bytes);
      return exponent < 2 ? 0.0f : std::bit_cast<float>((exponent - 1) << 23);
    }
    case TensorType::tq1_0:
      return half_at(stored + size_t{index} / 8 * 54 + 52);
    case TensorType::tq2_0:
      return half_at(stored + size_t{index} / 8 * 66 + 64);
    case TensorType::iq4_xs: {
      const std::byte* block = stored + size_t{index} / 8 * 136;
      const uint32_t sub = index % 8;
      const uint32_t packed =
          nibble_at(block + 4, sub) | (((u16_at(block + 2) >> (2 * sub)) & 3u) << 4);
      return half_at(block) * centred(packed, 32);
    }
    default:
      return 0.0f;
  }
}

/// The 32 elements `index` of a Q4_K row as a Q4_1 block: the same codes.
void q4_k_to_q4_1(const std::byte* stored, uint32_t index, std::byte* out) {
  const std::byte* block = stored + size_t{index} / 8 * 144;
  const uint32_t sub = index % 8;
  const ScaleAndMinimum part = scale_and_minimum(block + 4, sub);
  put_half(out, half_at(block) * part.scale);
  put_half(out + 2, -(half_at(block + 2) * part.minimum));
  // Q4_K's byte i has element i of one sub-block below that of the next; Q4_1's has i and i + 16.
  const std::byte* codes = block + 16 + size_t{sub} / 2 * 32;
  const uint32_t shift = sub % 2 * 4;
  for (size_t i = 0; i < 16; ++i) {
    const uint32_t low = (byte_at(codes, i) >> shift) & 15u;
    const uint32_t high = (byte_at(codes, i + 16) >> shift) & 15u;
    out[4 + i] = static_cast<std::byte>(low | (high << 4));
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
  if (to == TensorType::q4_1) {
    for (uint32_t i = 0; i < tensor.cols / quant_elements; ++i, out += q4_1_bytes) {
      q4_k_to_q4_1(stored, i, out);
    }
    return;
  }
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
      return type;
    case TensorType::q4_k:
      return TensorType::q4_1;
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
