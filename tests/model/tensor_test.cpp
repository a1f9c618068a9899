#include "model/tensor.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "model/ggml_types.hpp"
#include "tests/support/gguf_writer.hpp"

using namespace troupe;
using namespace troupe::model;
using troupe::testing::Bytes;
using troupe::testing::put;

namespace {

std::vector<float> row_of(const Bytes& bytes, TensorType type, uint32_t rows, uint32_t cols,
                          uint32_t row) {
  const Tensor tensor{"t", type, rows, cols, bytes.data()};
  REQUIRE(tensor.bytes() == bytes.size());
  std::vector<float> out(cols);
  dequantize_row(tensor, row, out.data());
  return out;
}

}  // namespace

TEST_CASE("the table of tensor types holds what this build reads and nothing else") {
  CHECK(supported_tensor_types() ==
        "F32, F16, BF16, F64, F8_E4M3, F8_E5M2, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, "
        "Q5_K, Q6_K, IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S, IQ4_NL, IQ4_XS, TQ1_0, "
        "TQ2_0, MXFP4, NVFP4");
  CHECK(info(TensorType::q4_0).block_bytes == 18);
  CHECK(info(TensorType::q4_1).block_bytes == 20);
  CHECK(info(TensorType::q8_0).block_bytes == 34);
  for (const uint32_t other : {4u, 15u, 99u, 999u, 4'000'000'000u}) {
    CHECK(tensor_type_info(other) == nullptr);
  }
  for (const TensorType stored : {TensorType::i32, TensorType::u8, TensorType::boolean}) {
    CHECK(tensor_type_info(static_cast<uint32_t>(stored)) != nullptr);
    CHECK_FALSE(is_weight_type(stored));
  }
}

TEST_CASE("every ggml type has a name for error messages") {
  CHECK(ggml_type_name(12) == "Q4_K");
  CHECK(ggml_type_name(30) == "BF16");
  CHECK(ggml_type_name(39) == "MXFP4");
  CHECK(ggml_type_name(4) == "type 4");
  CHECK(ggml_type_name(4'000'000'000u) == "type 4000000000");
  for (const uint32_t type : {0u, 1u, 3u, 8u}) {
    CHECK(ggml_type_name(type) == tensor_type_info(type)->name);
  }
}

TEST_CASE("Q8_0: scale times code") {
  Bytes bytes;
  for (const float scale : {0.5f, -2.0f}) {
    put(bytes, float_to_half(scale));
    for (int i = 0; i < 32; ++i) put(bytes, static_cast<int8_t>(i == 31 ? -128 : i - 3));
  }
  const auto first = row_of(bytes, TensorType::q8_0, 2, 32, 0);
  const auto second = row_of(bytes, TensorType::q8_0, 2, 32, 1);
  for (int i = 0; i < 31; ++i) {
    CHECK(first[static_cast<size_t>(i)] == 0.5f * static_cast<float>(i - 3));
    CHECK(second[static_cast<size_t>(i)] == -2.0f * static_cast<float>(i - 3));
  }
  CHECK(first[31] == -64.0f);
}

TEST_CASE("Q4_1: low nibbles are the first half, high nibbles the second") {
  Bytes bytes;
  put(bytes, float_to_half(0.25f));
  put(bytes, float_to_half(-1.0f));
  for (uint32_t i = 0; i < 16; ++i) put(bytes, static_cast<uint8_t>(i | ((15 - i) << 4)));
  const auto row = row_of(bytes, TensorType::q4_1, 1, 32, 0);
  for (size_t i = 0; i < 16; ++i) {
    CHECK(row[i] == 0.25f * static_cast<float>(i) - 1.0f);
    CHECK(row[i + 16] == 0.25f * static_cast<float>(15 - i) - 1.0f);
  }
}

TEST_CASE("F16 and F32 rows of a matrix") {
  Bytes halves;
  Bytes floats;
  for (int i = 0; i < 6; ++i) {
    put(halves, float_to_half(static_cast<float>(i) * 0.125f));
    put(floats, static_cast<float>(i) * 0.1f);
  }
  CHECK(row_of(halves, TensorType::f16, 2, 3, 1) == std::vector<float>{0.375f, 0.5f, 0.625f});
  CHECK(row_of(floats, TensorType::f32, 2, 3, 1) ==
        std::vector<float>{3 * 0.1f, 4 * 0.1f, 5 * 0.1f});
}

TEST_CASE("quantised values come back within half a step") {
  troupe::testing::WeightSource source(7);
  const std::vector<float> values = source.vector(64, 0.0f, 1.0f);
  const auto largest_error = [&](TensorType type) {
    const auto row = row_of(troupe::testing::quantize(values, type), type, 1, 64, 0);
    float error = 0.0f;
    for (size_t i = 0; i < 64; ++i) error = std::max(error, std::fabs(row[i] - values[i]));
    return error;
  };
  CHECK(largest_error(TensorType::f32) == 0.0f);
  CHECK(largest_error(TensorType::f16) < 0.0005f);
  CHECK(largest_error(TensorType::q8_0) < 0.0045f);
  CHECK(largest_error(TensorType::bf16) < 0.0160f);
  CHECK(largest_error(TensorType::q4_0) < 0.3000f);
  CHECK(largest_error(TensorType::q4_1) < 0.0700f);
}
