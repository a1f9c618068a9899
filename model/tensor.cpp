#include "model/tensor.hpp"

#include <cstring>

#include "base/half.hpp"

namespace troupe::model {
namespace {

struct Entry {
  TensorType type;
  TensorTypeInfo info;
};

constexpr Entry table[] = {
    {TensorType::f32, {"F32", 1, 4}},
    {TensorType::f16, {"F16", 1, 2}},
    {TensorType::q4_1, {"Q4_1", 32, 20}},
    {TensorType::q8_0, {"Q8_0", 32, 34}},
};

float read_half(const std::byte* at) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  return half_to_float(bits);
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
  switch (tensor.type) {
    case TensorType::f32:
      std::memcpy(out, data, size_t{tensor.cols} * sizeof(float));
      return;
    case TensorType::f16:
      for (uint32_t i = 0; i < tensor.cols; ++i) out[i] = read_half(data + size_t{i} * 2);
      return;
    case TensorType::q4_1:
    case TensorType::q8_0:
      break;
  }
  const auto dequantize = tensor.type == TensorType::q4_1 ? dequantize_q4_1 : dequantize_q8_0;
  for (uint32_t i = 0; i < tensor.cols; i += type.block_size) {
    dequantize(data, out + i);
    data += type.block_bytes;
  }
}

}  // namespace troupe::model
