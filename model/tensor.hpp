// Tensor element types and a view of one weight tensor as it lies in the model file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace troupe::model {

/// Values are ggml's type numbers (gguf specification, ggml_type).
enum class TensorType : uint32_t { f32 = 0, f16 = 1, q4_0 = 2, q4_1 = 3, q8_0 = 8, bf16 = 30 };

struct TensorTypeInfo {
  const char* name;      ///< "Q4_1"
  uint32_t block_size;   ///< elements in a block
  uint32_t block_bytes;  ///< bytes of a block
};

/// Table entry of a supported type; nullptr for a ggml type that this build cannot read.
const TensorTypeInfo* tensor_type_info(uint32_t ggml_type);
inline const TensorTypeInfo& info(TensorType type) {
  return *tensor_type_info(static_cast<uint32_t>(type));
}
/// "F32, F16, Q4_0, ...": for error messages.
std::string supported_tensor_types();

/// A matrix [rows, cols] (or a vector: rows = 1) in row-major order; `cols` is the contiguous,
/// reduced dimension, so y[rows] = W x[cols]. Borrowed from the mapped file.
struct Tensor {
  std::string name;
  TensorType type = TensorType::f32;
  uint32_t rows = 0;
  uint32_t cols = 0;
  const std::byte* data = nullptr;

  [[nodiscard]] size_t row_bytes() const {
    return size_t{cols} / info(type).block_size * info(type).block_bytes;
  }
  [[nodiscard]] size_t bytes() const { return row_bytes() * rows; }
  [[nodiscard]] bool present() const { return data != nullptr; }
};

/// Writes row `row` as `cols` floats to `out`, bit-equal to ggml's dequantisation.
void dequantize_row(const Tensor& tensor, uint32_t row, float* out);

}  // namespace troupe::model
