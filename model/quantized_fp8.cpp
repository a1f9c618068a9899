// 8-bit weights with scales: one for each block of rows and columns, for each row, or for all.
#include <algorithm>
#include <cstring>
#include <memory>

#include "base/concat.hpp"
#include "model/quantized_parts.hpp"
#include "model/quoted.hpp"

namespace troupe::model {
namespace {

struct Blocks {
  uint64_t rows = 0;
  uint64_t cols = 0;
};

/// "weight_block_size": [128, 128], also in compressed-tensors' groups; nothing: one of the whole.
Result<Blocks> read_blocks(const Json& settings, const MatrixShape& whole) {
  const Json* size = settings.find("weight_block_size");
  if (size == nullptr || size->is_null()) return Blocks{whole.rows, whole.cols};
  if (size->items().size() == 2) {
    const auto rows = size->items()[0].unsigned_integer();
    const auto cols = size->items()[1].unsigned_integer();
    if (rows && cols && *rows != 0 && *cols != 0) return Blocks{*rows, *cols};
  }
  return error(Code::corrupt, "config.json: weight_block_size is no pair of numbers above 0",
               "e.g. [128, 128]");
}

uint64_t ceil_div(uint64_t a, uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// What lies before the last two dimensions.
std::vector<uint64_t> with_front(const std::vector<uint64_t>& shape, uint64_t rows, uint64_t cols) {
  std::vector<uint64_t> made(shape.begin(), shape.end() - 2);
  made.push_back(rows);
  made.push_back(cols);
  return made;
}

struct Scaled {
  const std::byte* data = nullptr;
  TensorType type = TensorType::f8_e4m3;
  uint64_t rows = 0;  ///< of one matrix
  uint64_t cols = 0;
  Blocks block;
  uint64_t scale_cols = 0;
  uint64_t scale_rows = 0;  ///< of one matrix
  std::vector<float> scales;

  void read(uint32_t row, std::byte* out) const {
    const uint64_t matrix = row / rows;
    const uint64_t line = matrix * scale_rows + row % rows / block.rows;
    const std::byte* codes = data + row * cols;
    std::vector<float> values(static_cast<size_t>(cols));
    if (type == TensorType::i8) {
      std::transform(codes, codes + cols, values.begin(),
                     [](std::byte code) { return static_cast<float>(static_cast<int8_t>(code)); });
    } else {
      Tensor stored;
      stored.type = type;
      stored.cols = static_cast<uint32_t>(cols);
      stored.data = codes;
      dequantize_row(stored, 0, values.data());
    }
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] *= scales[static_cast<size_t>(line * scale_cols + i / block.cols)];
    }
    std::memcpy(out, values.data(), values.size() * sizeof(float));
  }
};

/// The scales' shape decides: [] or [1] for the tensor, [rows, 1] for rows, else blocks.
Status set_scales(const Json& settings, const StoredTensor& weight, const StoredTensor& scale,
                  Scaled& to) {
  size_t elements = 1;
  for (const uint64_t dim : scale.shape) elements *= static_cast<size_t>(dim);
  if (elements == 1) {
    to.block = {to.rows, to.cols};
    // One scale for all matrices of a stack: every line is the first.
    to.scale_cols = 0;
  } else if (scale.shape == with_front(weight.shape, to.rows, 1)) {
    to.block = {1, to.cols};
    to.scale_cols = 1;
  } else {
    TROUPE_ASSIGN(to.block, read_blocks(settings, {to.rows, to.cols}));
    to.scale_cols = ceil_div(to.cols, to.block.cols);
  }
  to.scale_rows = ceil_div(to.rows, to.block.rows);
  if (elements != 1 && scale.shape != with_front(weight.shape, to.scale_rows, to.scale_cols)) {
    return error(Code::corrupt,
                 concat("tensor ", quoted(scale.name), " has the shape ", shape_text(scale.shape)),
                 concat("scales for ", shape_text(weight.shape), " in blocks of ", to.block.rows,
                        " x ", to.block.cols));
  }
  to.scales = values_of(scale);
  return {};
}

Status convert_fp8_weight(const Json& settings, TensorTable& table, const std::string& stem,
                          const std::string& scale_name) {
  const std::string name = stem + "weight";
  const StoredTensor* weight = table.find(name);
  const StoredTensor* scale = table.find(scale_name);
  if (weight == nullptr || weight->shape.size() < 2 || weight->data.empty()) {
    return error(Code::corrupt,
                 concat("tensor ", quoted(scale_name), " has no matrix ", quoted(name)),
                 "scales belong to a weight");
  }
  const bool eight_bits = weight->type == TensorType::f8_e4m3 ||
                          weight->type == TensorType::f8_e5m2 || weight->type == TensorType::i8;
  const bool scale_is_number = is_weight_type(scale->type) || scale->type == TensorType::f8_e8m0;
  if (!eight_bits || !scale_is_number || info(scale->type).block_size != 1) {
    return error(Code::unsupported,
                 concat("tensor ", quoted(name), " has the type ", info(weight->type).name,
                        " with scales in ", info(scale->type).name),
                 "supported: F8_E4M3, F8_E5M2 and I8 with scales that are floating-point numbers");
  }
  Scaled scaled;
  scaled.data = weight->data.data();
  scaled.type = weight->type;
  scaled.rows = weight->shape[weight->shape.size() - 2];
  scaled.cols = weight->shape.back();
  TROUPE_TRY(set_scales(settings, *weight, *scale, scaled));
  const TensorType made =
      weight->type == TensorType::i8 ? TensorType::scaled_int : TensorType::scaled_f8;
  return replace_parts(table, {name, scale_name}, name, made, weight->shape,
                       [shared = std::make_shared<const Scaled>(std::move(scaled))](
                           uint32_t row, std::byte* out) { shared->read(row, out); });
}

}  // namespace

Status convert_fp8(const Json& settings, TensorTable& table) {
  if (!stems_of(table, ".weight_packed").empty()) {
    return error(Code::unsupported, "the checkpoint has weights packed by compressed-tensors",
                 "supported of compressed-tensors: 8-bit weights");
  }
  for (const char* ending : {"weight_scale_inv", "weight_scale"}) {
    for (const std::string& stem : stems_of(table, concat(".", ending))) {
      TROUPE_TRY(convert_fp8_weight(settings, table, stem + ".", concat(stem, ".", ending)));
    }
  }
  for (const char* ending : {".input_scale", ".k_scale", ".v_scale", ".output_scale"}) {
    for (const std::string& stem : stems_of(table, ending)) table.remove(stem + ending);
  }
  return {};
}

}  // namespace troupe::model
