// Group-quantised int4 matrices as rows of outputs: without loss where a block format can hold
// them.
#include <algorithm>
#include <cstring>
#include <memory>

#include "base/half.hpp"
#include "model/quantized_parts.hpp"

namespace troupe::model {
namespace {

constexpr uint32_t block = 32;

void put_scale(std::byte* at, float scale) {
  const uint16_t bits = float_to_half(scale);
  std::memcpy(at, &bits, sizeof bits);
}

void read_q4_0(const GroupedInt4& m, uint32_t output, std::byte* out) {
  for (uint32_t first = 0; first < m.inputs; first += block, out += 18) {
    put_scale(out, m.scales[size_t{m.group_of[first]} * m.outputs + output]);
    for (uint32_t i = 0; i < block / 2; ++i) {
      out[2 + i] = static_cast<std::byte>(m.code(first + i, output) |
                                          (m.code(first + i + block / 2, output) << 4));
    }
  }
}

void read_q8_0(const GroupedInt4& m, uint32_t output, std::byte* out) {
  for (uint32_t first = 0; first < m.inputs; first += block, out += 34) {
    const size_t group = size_t{m.group_of[first]} * m.outputs + output;
    put_scale(out, m.scales[group]);
    for (uint32_t i = 0; i < block; ++i) {
      const auto code = static_cast<int>(m.code(first + i, output));
      out[2 + i] = static_cast<std::byte>(static_cast<int8_t>(code - m.zeros[group]));
    }
  }
}

void read_f32(const GroupedInt4& m, uint32_t output, std::byte* out) {
  for (uint32_t i = 0; i < m.inputs; ++i, out += sizeof(float)) {
    const size_t group = size_t{m.group_of[i]} * m.outputs + output;
    const auto code = static_cast<int>(m.code(i, output)) - m.zeros[group];
    const float value = static_cast<float>(code) * m.scales[group];
    std::memcpy(out, &value, sizeof value);
  }
}

}  // namespace

Status put_grouped(TensorTable& table, std::initializer_list<std::string> parts, std::string name,
                   GroupedInt4 matrix) {
  const bool blocks = matrix.ascending && matrix.scale_type == TensorType::f16;
  const bool centred = std::ranges::all_of(matrix.zeros, [](uint8_t zero) { return zero == 8; });
  const TensorType type = !blocks   ? TensorType::scaled_int
                          : centred ? TensorType::q4_0
                                    : TensorType::q8_0;
  const auto read = !blocks ? read_f32 : centred ? read_q4_0 : read_q8_0;
  const std::vector<uint64_t> shape = {matrix.outputs, matrix.inputs};
  return replace_parts(table, parts, std::move(name), type, shape,
                       [read, shared = std::make_shared<const GroupedInt4>(std::move(matrix))](
                           uint32_t row, std::byte* out) { read(*shared, row, out); });
}

}  // namespace troupe::model
