#include "model/tensor.hpp"

#include <bit>
#include <cstring>

#include "base/half.hpp"

namespace troupe::model {
namespace {

struct Entry {
  TensorType type;
  TensorTypeInfo info;
};

constexpr Entry table[] = {
    {TensorType::f32, {"F32", 1, 4}},     {TensorType::f16, {"F16", 1, 2}},
    {TensorType::bf16, {"BF16", 1, 2}},   {TensorType::q4_0, {"Q4_0", 32, 18}},
    {TensorType::q4_1, {"Q4_1", 32, 20}}, {TensorType::q8_0, {"Q8_0", 32, 34}},
};

float read_half(const std::byte* at) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  return half_to_float(bits);
}

void dequantize_q4_0(const std::byte* block, float* out) {
  const float scale = read_half(block);
  for (int i = 0; i < 16; ++i) {
    const auto codes = static_cast<int32_t>(block[2 + i]);
    out[i] = static_cast<float>((codes & 15) - 8) * scale;
    out[i + 16] = static_cast<float>((codes >> 4) - 8) * scale;
  }
}

void dequantize_q4_1(const std::byte* block, float* out) {
  const float scale = read_half(block);
  const float minimum = read_half(block + 2);
  for (int i = 0; i < 16; ++i) {
    const auto codes = static_cast<uint32_t>(block[4 + i]);
    out[i] = static_cast<float>(codes & 15u) * scale + minimum;
    out[i + 16] = static_cast<float>(codes >> 4) * scale + minimum;
  }
}

void dequantize_q8_0(const std::byte* block, float* out) {
  const float scale = read_half(block);
  for (int i = 0; i < 32; ++i) {
    out[i] = static_cast<float>(static_cast<int8_t>(block[2 + i])) * scale;
  }
}

void dequantize_f32(const std::byte* element, float* out) {
  std::memcpy(out, element, sizeof(float));
}

void dequantize_f16(const std::byte* element, float* out) {
  *out = read_half(element);
}

void dequantize_bf16(const std::byte* element, float* out) {
  uint16_t bits;
  std::memcpy(&bits, element, sizeof bits);
  *out = std::bit_cast<float>(uint32_t{bits} << 16);
}

/// One block of the type to floats.
using Dequantize = void (*)(const std::byte* block, float* out);

Dequantize dequantizer(TensorType type) {
  switch (type) {
    case TensorType::f32:
      return dequantize_f32;
    case TensorType::f16:
      return dequantize_f16;
    case TensorType::bf16:
      return dequantize_bf16;
    case TensorType::q4_0:
      return dequantize_q4_0;
    case TensorType::q4_1:
      return dequantize_q4_1;
    case TensorType::q8_0:
      return dequantize_q8_0;
  }
  return nullptr;
}

}  // namespace

const TensorTypeInfo* tensor_type_info(uint32_t ggml_type) {
  for (const Entry& entry : table) {
    if (static_cast<uint32_t>(entry.type) == ggml_type) return &entry.info;
  }
  return nullptr;
}

std::string supported_tensor_types() {
  std::string names;
  for (const Entry& entry : table) {
    if (!names.empty()) names += ", ";
    names += entry.info.name;
  }
  return names;
}

void dequantize_row(const Tensor& tensor, uint32_t row, float* out) {
  const std::byte* data = tensor.data + size_t{row} * tensor.row_bytes();
  const TensorTypeInfo& type = info(tensor.type);
  const Dequantize dequantize = dequantizer(tensor.type);
  for (uint32_t i = 0; i < tensor.cols; i += type.block_size) {
    dequantize(data, out + i);
    data += type.block_bytes;
  }
}

}  // namespace troupe::model
