// What the converters of quantised checkpoints share. Each takes every weight of its method.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/json.hpp"
#include "model/tensor_table.hpp"

namespace troupe::model {

// `settings` is quantization_config.
Status convert_fp8(const Json& settings, TensorTable& table);
Status convert_gptq(const Json& settings, TensorTable& table);
Status convert_awq(const Json& settings, TensorTable& table);
Status convert_mxfp4(TensorTable& table);

/// X of every tensor X + `ending`.
std::vector<std::string> stems_of(const TensorTable& table, std::string_view ending);

/// A part by name. Errors: corrupt (missing, another shape), unsupported (another type).
Result<const StoredTensor*> part_of(const TensorTable& table, const std::string& name,
                                    std::initializer_list<TensorType> types,
                                    const std::vector<uint64_t>& shape);

/// Rows and columns of a part that has two dimensions, none of them 0.
struct MatrixShape {
  uint64_t rows = 0;
  uint64_t cols = 0;
};
Result<MatrixShape> matrix_shape(const StoredTensor& tensor);

/// All values as floats; the type is a weight type or F8_E8M0 (powers of two).
std::vector<float> values_of(const StoredTensor& tensor);

/// Puts the tensor that `read` makes in the place of its parts.
Status replace_parts(TensorTable& table, std::initializer_list<std::string> parts, std::string name,
                     TensorType type, std::vector<uint64_t> shape, ReadRow read);

/// An int4 group-quantised matrix after its method's layout was understood: code(i, o) of input i
/// and output o is nibble(i, o), its value (code - zero) * scale.
struct GroupedInt4 {
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  uint32_t groups = 0;
  std::vector<uint32_t> group_of;  ///< [inputs]
  bool ascending = true;           ///< group_of[i] = i / (inputs / groups), groups of whole 32s
  TensorType scale_type = TensorType::f16;
  std::vector<float> scales;   ///< [groups, outputs]
  std::vector<uint8_t> zeros;  ///< [groups, outputs]
  /// The code of an input and an output.
  std::function<uint32_t(uint32_t input, uint32_t output)> code;
};

/// Q4_0 where all zero points are 8, else Q8_0, both without loss, when groups ascend and scales
/// are F16; else F32 values.
Status put_grouped(TensorTable& table, std::initializer_list<std::string> parts, std::string name,
                   GroupedInt4 matrix);

}  // namespace troupe::model
