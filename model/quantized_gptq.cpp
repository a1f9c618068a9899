// GPTQ int4. qweight I32 [in / 8, out]: 8 inputs in a word, the first in the lowest bits. qzeros
// I32 [groups, out / 8]: 8 outputs in a word, each zero point less 1 (but in checkpoint_format
// gptq_v2). scales [groups, out]. g_idx I32 [in]: the group of each input; absent: consecutive
// groups.
#include <optional>

#include "base/concat.hpp"
#include "model/block_bytes.hpp"
#include "model/quantized_parts.hpp"
#include "model/quoted.hpp"

namespace troupe::model {
namespace {

Status read_groups(const TensorTable& table, const std::string& name, GroupedInt4& m) {
  const uint32_t size = m.inputs / m.groups;
  m.group_of.resize(m.inputs);
  for (uint32_t i = 0; i < m.inputs; ++i) m.group_of[i] = i / size;
  m.ascending = size % 32 == 0;
  if (table.find(name) == nullptr) return {};
  TROUPE_ASSIGN(const StoredTensor* indices, part_of(table, name, {TensorType::i32}, {m.inputs}));
  for (uint32_t i = 0; i < m.inputs; ++i) {
    const uint32_t group = u32_at(indices->data.data() + size_t{i} * 4);
    if (group >= m.groups) {
      return error(Code::corrupt,
                   concat("tensor ", quoted(name), " puts input ", i, " into group ", group),
                   concat("there are ", m.groups, " groups"));
    }
    m.ascending = m.ascending && group == i / size;
    m.group_of[i] = group;
  }
  return {};
}

Status convert_gptq_weight(TensorTable& table, const std::string& stem, uint8_t zero_offset) {
  const StoredTensor* codes = table.find(stem + ".qweight");
  TROUPE_ASSIGN(const MatrixShape packed, matrix_shape(*codes));
  const StoredTensor* scales = table.find(stem + ".scales");
  const uint64_t groups = scales == nullptr || scales->shape.size() != 2 ? 0 : scales->shape[0];
  const uint64_t inputs = packed.rows * 8;
  if (groups == 0 || inputs % groups != 0 || packed.cols % 8 != 0 || inputs > UINT32_MAX ||
      packed.cols > UINT32_MAX) {
    return error(Code::corrupt,
                 concat("the parts of ", quoted(stem), " do not fit: ", inputs, " inputs, ",
                        packed.cols, " outputs, ", groups, " groups"),
                 "outputs in eights, inputs in whole groups");
  }
  TROUPE_TRY(part_of(table, stem + ".qweight", {TensorType::i32}, codes->shape));
  TROUPE_TRY(part_of(table, stem + ".scales", {TensorType::f16, TensorType::bf16, TensorType::f32},
                     {groups, packed.cols}));
  TROUPE_ASSIGN(const StoredTensor* zeros,
                part_of(table, stem + ".qzeros", {TensorType::i32}, {groups, packed.cols / 8}));
  GroupedInt4 m;
  m.inputs = static_cast<uint32_t>(inputs);
  m.outputs = static_cast<uint32_t>(packed.cols);
  m.groups = static_cast<uint32_t>(groups);
  m.scale_type = scales->type;
  m.scales = values_of(*scales);
  m.zeros.resize(m.scales.size());
  for (size_t i = 0; i < m.zeros.size(); ++i) {
    m.zeros[i] = static_cast<uint8_t>(nibble_at(zeros->data.data(), i) + zero_offset);
  }
  TROUPE_TRY(read_groups(table, stem + ".g_idx", m));
  m.code = [data = codes->data.data(), outputs = m.outputs](uint32_t input, uint32_t output) {
    const size_t word = size_t{input / 8} * outputs + output;
    return (u32_at(data + word * 4) >> (4 * (input % 8))) & 15u;
  };
  return put_grouped(table,
                     {stem + ".qweight", stem + ".qzeros", stem + ".scales", stem + ".g_idx"},
                     stem + ".weight", std::move(m));
}

}  // namespace

Status convert_gptq(const Json& settings, TensorTable& table) {
  const Json* bits = settings.find("bits");
  if (bits == nullptr || bits->integer() != 4) {
    return error(
        Code::unsupported,
        concat("config.json: GPTQ with ", bits == nullptr ? "no number of" : bits->text(), " bits"),
        "supported: 4");
  }
  const Json* format = settings.find("checkpoint_format");
  const std::string known = format == nullptr || format->is_null() ? "gptq" : format->text();
  if (known != "gptq" && known != "gptq_v2") {
    return error(Code::unsupported,
                 concat("config.json: the GPTQ checkpoint_format is ", quoted(known)),
                 "supported: gptq, gptq_v2");
  }
  for (const std::string& stem : stems_of(table, ".qweight")) {
    TROUPE_TRY(convert_gptq_weight(table, stem, known == "gptq" ? 1 : 0));
  }
  return {};
}

}  // namespace troupe::model
