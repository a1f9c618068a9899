// MXFP4 as GPT-OSS checkpoints store it. X_blocks U8 [expert, out, in / 32, 16]: two neighbouring
// elements in a byte, the first in the lower half. X_scales U8 [expert, out, in / 32]: exponents.
#include "base/concat.hpp"
#include "model/block_bytes.hpp"
#include "model/quantized.hpp"
#include "model/quantized_parts.hpp"
#include "model/quoted.hpp"

namespace troupe::model {
namespace {

constexpr size_t code_bytes = 16;

/// A row in ggml's order: elements i and i + 16 share a byte.
void read_mxfp4(const std::byte* codes, const std::byte* scales, size_t blocks, std::byte* out) {
  for (size_t b = 0; b < blocks; ++b, codes += code_bytes, out += 1 + code_bytes) {
    out[0] = scales[b];
    for (size_t i = 0; i < code_bytes; ++i) {
      out[1 + i] = static_cast<std::byte>(nibble_at(codes, i) | (nibble_at(codes, i + 16) << 4));
    }
  }
}

Status convert_mxfp4_weight(TensorTable& table, const std::string& stem) {
  const StoredTensor* codes = table.find(stem + "_blocks");
  const std::vector<uint64_t>& shape = codes->shape;
  if (codes->type != TensorType::u8 || shape.size() < 3 || shape.back() != code_bytes ||
      codes->data.empty()) {
    return error(Code::corrupt,
                 concat("tensor ", quoted(codes->name), " has the type ", info(codes->type).name,
                        " and the shape ", shape_text(shape)),
                 "U8 of the shape [expert, out, in / 32, 16]");
  }
  TROUPE_ASSIGN(const StoredTensor* scales, part_of(table, stem + "_scales", {TensorType::u8},
                                                    {shape.begin(), shape.end() - 1}));
  const auto blocks = static_cast<size_t>(shape[shape.size() - 2]);
  std::vector<uint64_t> made(shape.begin(), shape.end() - 2);
  made.push_back(blocks * 32);
  return replace_parts(table, {stem + "_blocks", stem + "_scales"}, concat(stem, rows_are_outputs),
                       TensorType::mxfp4, std::move(made),
                       [codes = codes->data.data(), scales = scales->data.data(), blocks](
                           uint32_t row, std::byte* out) {
                         read_mxfp4(codes + row * blocks * code_bytes, scales + row * blocks,
                                    blocks, out);
                       });
}

}  // namespace

Status convert_mxfp4(TensorTable& table) {
  for (const std::string& stem : stems_of(table, "_blocks")) {
    TROUPE_TRY(convert_mxfp4_weight(table, stem));
  }
  return {};
}

}  // namespace troupe::model
