#include "model/tensor.hpp"

#include "model/dequantize.hpp"

namespace troupe::model {
namespace {

/// One block of the type to floats.
using Dequantize = void (*)(const std::byte* block, float* out);

struct Entry {
  TensorType type;
  TensorTypeInfo info;
  Dequantize dequantize = nullptr;  ///< null: values that are no weights by themselves
};

constexpr Entry table[] = {
    {TensorType::f32, {"F32", 1, 4}, dequantize_f32},
    {TensorType::f16, {"F16", 1, 2}, dequantize_f16},
    {TensorType::bf16, {"BF16", 1, 2}, dequantize_bf16},
    {TensorType::f64, {"F64", 1, 8}, dequantize_f64},
    {TensorType::f8_e4m3, {"F8_E4M3", 1, 1}, dequantize_f8_e4m3},
    {TensorType::f8_e5m2, {"F8_E5M2", 1, 1}, dequantize_f8_e5m2},
    {TensorType::q4_0, {"Q4_0", 32, 18}, dequantize_q4_0},
    {TensorType::q4_1, {"Q4_1", 32, 20}, dequantize_q4_1},
    {TensorType::q5_0, {"Q5_0", 32, 22}, dequantize_q5_0},
    {TensorType::q5_1, {"Q5_1", 32, 24}, dequantize_q5_1},
    {TensorType::q8_0, {"Q8_0", 32, 34}, dequantize_q8_0},
    {TensorType::q2_k, {"Q2_K", 256, 84}, dequantize_q2_k},
    {TensorType::q3_k, {"Q3_K", 256, 110}, dequantize_q3_k},
    {TensorType::q4_k, {"Q4_K", 256, 144}, dequantize_q4_k},
    {TensorType::q5_k, {"Q5_K", 256, 176}, dequantize_q5_k},
    {TensorType::q6_k, {"Q6_K", 256, 210}, dequantize_q6_k},
    {TensorType::iq1_s, {"IQ1_S", 256, 50}, dequantize_iq1_s},
    {TensorType::iq1_m, {"IQ1_M", 256, 56}, dequantize_iq1_m},
    {TensorType::iq2_xxs, {"IQ2_XXS", 256, 66}, dequantize_iq2_xxs},
    {TensorType::iq2_xs, {"IQ2_XS", 256, 74}, dequantize_iq2_xs},
    {TensorType::iq2_s, {"IQ2_S", 256, 82}, dequantize_iq2_s},
    {TensorType::iq3_xxs, {"IQ3_XXS", 256, 98}, dequantize_iq3_xxs},
    {TensorType::iq3_s, {"IQ3_S", 256, 110}, dequantize_iq3_s},
    {TensorType::iq4_nl, {"IQ4_NL", 32, 18}, dequantize_iq4_nl},
    {TensorType::iq4_xs, {"IQ4_XS", 256, 136}, dequantize_iq4_xs},
    {TensorType::tq1_0, {"TQ1_0", 256, 54}, dequantize_tq1_0},
    {TensorType::tq2_0, {"TQ2_0", 256, 66}, dequantize_tq2_0},
    {TensorType::mxfp4, {"MXFP4", 32, 17}, dequantize_mxfp4},
    {TensorType::nvfp4, {"NVFP4", 64, 36}, dequantize_nvfp4},
    {TensorType::scaled_f8, {"FP8 with scales", 1, 4}, dequantize_f32},
    {TensorType::scaled_int, {"INT with scales", 1, 4}, dequantize_f32},
    {TensorType::i8, {"I8", 1, 1}},
    {TensorType::i16, {"I16", 1, 2}},
    {TensorType::i32, {"I32", 1, 4}},
    {TensorType::i64, {"I64", 1, 8}},
    {TensorType::u8, {"U8", 1, 1}},
    {TensorType::u16, {"U16", 1, 2}},
    {TensorType::u32, {"U32", 1, 4}},
    {TensorType::u64, {"U64", 1, 8}},
    {TensorType::boolean, {"BOOL", 1, 1}},
    {TensorType::f8_e8m0, {"F8_E8M0", 1, 1}},
};

const Entry* find_entry(uint32_t type) {
  for (const Entry& entry : table) {
    if (static_cast<uint32_t>(entry.type) == type) return &entry;
  }
  return nullptr;
}

}  // namespace

const TensorTypeInfo* tensor_type_info(uint32_t type) {
  const Entry* entry = find_entry(type);
  return entry == nullptr ? nullptr : &entry->info;
}

bool is_weight_type(TensorType type) {
  const Entry* entry = find_entry(static_cast<uint32_t>(type));
  return entry != nullptr && entry->dequantize != nullptr;
}

std::string supported_tensor_types() {
  std::string names;
  for (const Entry& entry : table) {
    if (entry.dequantize == nullptr || entry.type >= TensorType::scaled_f8) continue;
    if (!names.empty()) names += ", ";
    names += entry.info.name;
  }
  return names;
}

const std::byte* stored_row(const Tensor& tensor, uint32_t row, std::vector<std::byte>& scratch) {
  if (tensor.data != nullptr) return tensor.data + row * tensor.row_bytes();
  scratch.resize(tensor.row_bytes());
  (*tensor.read_row)(row, scratch.data());
  return scratch.data();
}

void dequantize_row(const Tensor& tensor, uint32_t row, float* out) {
  std::vector<std::byte> scratch;
  const std::byte* data = stored_row(tensor, row, scratch);
  const Entry& entry = *find_entry(static_cast<uint32_t>(tensor.type));
  for (uint32_t i = 0; i < tensor.cols; i += entry.info.block_size) {
    entry.dequantize(data, out + i);
    data += entry.info.block_bytes;
  }
}

}  // namespace troupe::model
