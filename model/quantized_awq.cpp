// AWQ int4 in the order of its GEMM kernels. qweight I32 [in, out / 8] and qzeros I32 [groups, out
// / 8]: of 8 outputs the even ones lie in the lower half of the word, the odd ones in the upper.
// scales [groups, out].
#include "base/concat.hpp"
#include "model/block_bytes.hpp"
#include "model/quantized_parts.hpp"
#include "model/quoted.hpp"

namespace troupe::model {
namespace {

/// The code of `output` in the row of words at `words`.
uint32_t awq_code(const std::byte* words, uint32_t output) {
  const uint32_t lane = output % 8;
  const uint32_t nibble = lane / 2 + (lane % 2 == 0 ? 0 : 4);
  return (u32_at(words + size_t{output / 8} * 4) >> (4 * nibble)) & 15u;
}

Status convert_awq_weight(TensorTable& table, const std::string& stem) {
  const StoredTensor* codes = table.find(stem + ".qweight");
  TROUPE_ASSIGN(const MatrixShape packed, matrix_shape(*codes));
  const StoredTensor* scales = table.find(stem + ".scales");
  const uint64_t groups = scales == nullptr || scales->shape.size() != 2 ? 0 : scales->shape[0];
  const uint64_t outputs = packed.cols * 8;
  if (groups == 0 || packed.rows % groups != 0 || packed.rows % 32 != 0 ||
      packed.rows > UINT32_MAX || outputs > UINT32_MAX) {
    return error(Code::corrupt,
                 concat("the parts of ", quoted(stem), " do not fit: ", packed.rows, " inputs, ",
                        outputs, " outputs, ", groups, " groups"),
                 "inputs in whole groups");
  }
  TROUPE_TRY(part_of(table, stem + ".qweight", {TensorType::i32}, codes->shape));
  TROUPE_TRY(part_of(table, stem + ".scales", {TensorType::f16, TensorType::bf16, TensorType::f32},
                     {groups, outputs}));
  TROUPE_ASSIGN(const StoredTensor* zeros,
                part_of(table, stem + ".qzeros", {TensorType::i32}, {groups, packed.cols}));
  GroupedInt4 m;
  m.inputs = static_cast<uint32_t>(packed.rows);
  m.outputs = static_cast<uint32_t>(outputs);
  m.groups = static_cast<uint32_t>(groups);
  const uint32_t size = m.inputs / m.groups;
  m.ascending = size % 32 == 0;
  m.group_of.resize(m.inputs);
  for (uint32_t i = 0; i < m.inputs; ++i) m.group_of[i] = i / size;
  m.scale_type = scales->type;
  m.scales = values_of(*scales);
  m.zeros.resize(m.scales.size());
  const size_t row_bytes = size_t{m.outputs} / 2;
  for (uint32_t group = 0; group < m.groups; ++group) {
    for (uint32_t output = 0; output < m.outputs; ++output) {
      m.zeros[size_t{group} * m.outputs + output] =
          static_cast<uint8_t>(awq_code(zeros->data.data() + group * row_bytes, output));
    }
  }
  m.code = [data = codes->data.data(), row_bytes](uint32_t input, uint32_t output) {
    return awq_code(data + input * row_bytes, output);
  };
  return put_grouped(table, {stem + ".qweight", stem + ".qzeros", stem + ".scales"},
                     stem + ".weight", std::move(m));
}

}  // namespace

Status convert_awq(const Json& settings, TensorTable& table) {
  const Json* bits = settings.find("bits");
  if (bits == nullptr || bits->integer() != 4) {
    return error(
        Code::unsupported,
        concat("config.json: AWQ with ", bits == nullptr ? "no number of" : bits->text(), " bits"),
        "supported: 4");
  }
  const Json* version = settings.find("version");
  if (version != nullptr && version->is_string() && version->text() != "gemm" &&
      version->text() != "GEMM") {
    return error(Code::unsupported,
                 concat("config.json: the AWQ version is ", quoted(version->text())),
                 "supported: gemm");
  }
  for (const std::string& stem : stems_of(table, ".qweight")) {
    TROUPE_TRY(convert_awq_weight(table, stem));
  }
  return {};
}

}  // namespace troupe::model
