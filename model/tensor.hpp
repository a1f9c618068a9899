// Tensor element types and a view of one weight matrix as the forward pass takes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace troupe::model {

/// Values below 1000 are ggml's type numbers (gguf specification, ggml_type); those from 1000 are
/// ours, for element types that safetensors has and ggml has not.
enum class TensorType : uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  iq2_xxs = 16,
  iq2_xs = 17,
  iq3_xxs = 18,
  iq1_s = 19,
  iq4_nl = 20,
  iq3_s = 21,
  iq2_s = 22,
  iq4_xs = 23,
  i8 = 24,
  i16 = 25,
  i32 = 26,
  i64 = 27,
  f64 = 28,
  iq1_m = 29,
  bf16 = 30,
  tq1_0 = 34,
  tq2_0 = 35,
  mxfp4 = 39,
  nvfp4 = 40,
  u8 = 1000,
  u16 = 1001,
  u32 = 1002,
  u64 = 1003,
  boolean = 1004,
  f8_e4m3 = 1005,
  f8_e5m2 = 1006,
  f8_e8m0 = 1007,
  scaled_f8 = 1100,  ///< rows of F32 that a converter makes of FP8 codes and scales
  scaled_int = 1101  ///< the same of integer codes
};

struct TensorTypeInfo {
  const char* name;      ///< "Q4_1"
  uint32_t block_size;   ///< elements in a block
  uint32_t block_bytes;  ///< bytes of a block
};

/// Table entry of a type whose blocks this build knows; nullptr for any other number.
const TensorTypeInfo* tensor_type_info(uint32_t type);
inline const TensorTypeInfo& info(TensorType type) {
  return *tensor_type_info(static_cast<uint32_t>(type));
}
/// True for the types whose values are weights by themselves: dequantize_row reads them.
bool is_weight_type(TensorType type);
/// "F32, F16, Q4_0, ...", the weight types: for error messages.
std::string supported_tensor_types();

/// Writes row `row`, in the stored form of its tensor's type, to `out`. Called from many threads.
using ReadRow = std::function<void(uint32_t row, std::byte* out)>;

/// A matrix [rows, cols] (or a vector: rows = 1) in row-major order; `cols` is the contiguous,
/// reduced dimension, so y[rows] = W x[cols]. Its rows lie one after another at `data`, borrowed
/// from the mapped file; or they are made one at a time by `read_row` (tensor_views.hpp, converted
/// checkpoints) and `data` is null.
struct Tensor {
  std::string name;
  TensorType type = TensorType::f32;
  uint32_t rows = 0;
  uint32_t cols = 0;
  const std::byte* data = nullptr;
  std::shared_ptr<const ReadRow> read_row = nullptr;

  [[nodiscard]] size_t row_bytes() const {
    return size_t{cols} / info(type).block_size * info(type).block_bytes;
  }
  [[nodiscard]] size_t bytes() const { return row_bytes() * rows; }
  [[nodiscard]] bool present() const { return data != nullptr || read_row != nullptr; }
};

/// The row_bytes() of row `row`: where they lie, or written to `scratch`, which must live as long
/// as they are used.
const std::byte* stored_row(const Tensor& tensor, uint32_t row, std::vector<std::byte>& scratch);

/// Writes row `row` as `cols` floats to `out`, bit-equal to ggml's dequantisation. The type is a
/// weight type.
void dequantize_row(const Tensor& tensor, uint32_t row, float* out);

}  // namespace troupe::model
