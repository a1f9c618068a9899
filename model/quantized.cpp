#include "model/quantized.hpp"

#include <bit>

#include "base/concat.hpp"
#include "model/block_bytes.hpp"
#include "model/quantized_parts.hpp"
#include "model/quoted.hpp"

namespace troupe::model {

std::vector<std::string> stems_of(const TensorTable& table, std::string_view ending) {
  std::vector<std::string> stems;
  for (const auto& [name, tensor] : table.all()) {
    if (name.size() > ending.size() && name.ends_with(ending)) {
      stems.push_back(name.substr(0, name.size() - ending.size()));
    }
  }
  return stems;
}

Result<const StoredTensor*> part_of(const TensorTable& table, const std::string& name,
                                    std::initializer_list<TensorType> types,
                                    const std::vector<uint64_t>& shape) {
  const StoredTensor* found = table.find(name);
  if (found == nullptr) {
    return error(Code::corrupt, concat("the tensor ", quoted(name), " is missing"),
                 "it belongs to a quantised weight");
  }
  if (found->shape != shape) {
    return error(Code::corrupt,
                 concat("tensor ", quoted(name), " has the shape ", shape_text(found->shape)),
                 concat(shape_text(shape), " by the other parts of its weight"));
  }
  for (const TensorType type : types) {
    if (found->type == type) return found;
  }
  return error(Code::unsupported,
               concat("tensor ", quoted(name), " has the type ", info(found->type).name),
               concat(info(*types.begin()).name, " is expected in this part of a weight"));
}

Result<MatrixShape> matrix_shape(const StoredTensor& tensor) {
  if (tensor.shape.size() != 2 || tensor.data.empty()) {
    return error(
        Code::corrupt,
        concat("tensor ", quoted(tensor.name), " has the shape ", shape_text(tensor.shape)),
        "two dimensions, none of them 0");
  }
  return MatrixShape{tensor.shape[0], tensor.shape[1]};
}

std::vector<float> values_of(const StoredTensor& tensor) {
  const size_t bytes = info(tensor.type).block_bytes;
  std::vector<float> values(tensor.data.size() / bytes);
  if (tensor.type == TensorType::f8_e8m0) {
    for (size_t i = 0; i < values.size(); ++i) {
      const uint32_t exponent = byte_at(tensor.data.data(), i);
      values[i] = std::bit_cast<float>(exponent == 0 ? 0x00400000u : exponent << 23);
    }
    return values;
  }
  Tensor rows;
  rows.type = tensor.type;
  rows.cols = static_cast<uint32_t>(tensor.shape.empty() ? 1 : tensor.shape.back());
  rows.data = tensor.data.data();
  for (size_t i = 0; i < values.size(); i += rows.cols) {
    dequantize_row(rows, static_cast<uint32_t>(i / rows.cols), &values[i]);
  }
  return values;
}

Status replace_parts(TensorTable& table, std::initializer_list<std::string> parts, std::string name,
                     TensorType type, std::vector<uint64_t> shape, ReadRow read) {
  for (const std::string& part : parts) table.remove(part);
  StoredTensor made;
  made.name = std::move(name);
  made.type = type;
  made.shape = std::move(shape);
  made.read_row = std::make_shared<const ReadRow>(std::move(read));
  return table.add(std::move(made));
}

Status convert_quantized(const Json& config, TensorTable& table) {
  const Json* settings = config.find("quantization_config");
  if (settings == nullptr || settings->is_null()) return {};
  const Json* method = settings->find("quant_method");
  const std::string name = method == nullptr ? "" : method->text();
  if (name == "fp8" || name == "compressed-tensors") return convert_fp8(*settings, table);
  if (name == "gptq") return convert_gptq(*settings, table);
  if (name == "awq") return convert_awq(*settings, table);
  if (name == "mxfp4") return convert_mxfp4(table);
  return error(Code::unsupported, concat("config.json: the quantisation method is ", quoted(name)),
               "supported: fp8, compressed-tensors (8 bits), gptq, awq, mxfp4");
}

}  // namespace troupe::model
