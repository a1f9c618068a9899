#include "model/tensor_views.hpp"

#include <cstring>
#include <utility>

namespace troupe::model {
namespace {

Tensor made_rows(std::string name, TensorType type, uint32_t rows, uint32_t cols, ReadRow read) {
  Tensor made;
  made.name = std::move(name);
  made.type = type;
  made.rows = rows;
  made.cols = cols;
  made.read_row = std::make_shared<const ReadRow>(std::move(read));
  return made;
}

/// Elements of `bytes` each, where the whole matrix lies in memory.
ReadRow read_column(const Tensor& from, uint32_t first, uint32_t step, uint32_t bytes) {
  return [from, first, step, bytes](uint32_t row, std::byte* out) {
    const std::byte* at = from.data + (size_t{first} + size_t{row} * step) * bytes;
    for (uint32_t i = 0; i < from.rows; ++i, at += from.row_bytes()) {
      std::memcpy(out + size_t{i} * bytes, at, bytes);
    }
  };
}

}  // namespace

Tensor slice_rows(const Tensor& from, uint32_t first, uint32_t count, std::string name) {
  if (from.data != nullptr) {
    Tensor slice = from;
    slice.name = std::move(name);
    slice.rows = count;
    slice.data = from.data + size_t{first} * from.row_bytes();
    return slice;
  }
  return made_rows(
      std::move(name), from.type, count, from.cols,
      [read = from.read_row, first](uint32_t row, std::byte* out) { (*read)(first + row, out); });
}

Tensor gather_rows(const Tensor& from, std::vector<uint32_t> rows, std::string name) {
  const auto count = static_cast<uint32_t>(rows.size());
  return made_rows(std::move(name), from.type, count, from.cols,
                   [from, rows = std::move(rows)](uint32_t row, std::byte* out) {
                     if (from.read_row != nullptr) {
                       (*from.read_row)(rows[row], out);
                     } else {
                       std::memcpy(out, from.data + rows[row] * from.row_bytes(), from.row_bytes());
                     }
                   });
}

Tensor columns_as_rows(const Tensor& from, uint32_t first, uint32_t step, uint32_t count,
                       std::string name) {
  const TensorType type = from.type;
  const bool plain = type == TensorType::f32 || type == TensorType::f16 || type == TensorType::bf16;
  if (plain && from.data != nullptr) {
    return made_rows(std::move(name), type, count, from.rows,
                     read_column(from, first, step, info(type).block_bytes));
  }
  return made_rows(std::move(name), TensorType::f32, count, from.rows,
                   [from, first, step](uint32_t row, std::byte* out) {
                     std::vector<float> values(from.cols);
                     for (uint32_t i = 0; i < from.rows; ++i) {
                       dequantize_row(from, i, values.data());
                       std::memcpy(out + size_t{i} * sizeof(float), &values[first + row * step],
                                   sizeof(float));
                     }
                   });
}

Tensor slice_cols(const Tensor& from, uint32_t first, uint32_t count, std::string name) {
  const TensorTypeInfo& type = info(from.type);
  const size_t offset = size_t{first} / type.block_size * type.block_bytes;
  const size_t bytes = size_t{count} / type.block_size * type.block_bytes;
  return made_rows(std::move(name), from.type, from.rows, count,
                   [from, offset, bytes](uint32_t row, std::byte* out) {
                     std::vector<std::byte> scratch;
                     std::memcpy(out, stored_row(from, row, scratch) + offset, bytes);
                   });
}

}  // namespace troupe::model
