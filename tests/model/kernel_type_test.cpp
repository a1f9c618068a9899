#include "model/kernel_type.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/half.hpp"
#include "tests/support/random_blocks.hpp"

using namespace troupe;
using namespace troupe::model;
using namespace troupe::testing;

namespace {

constexpr uint32_t cols = 512;

Bytes row_of(TensorType type) {
  return random_blocks(type, cols / info(type).block_size, static_cast<uint32_t>(type) + 1);
}

struct Rows {
  std::vector<float> before, after;
  TensorType type = TensorType::f32;
};

Rows converted(TensorType type, const Bytes& bytes) {
  Tensor tensor;
  tensor.type = type;
  tensor.rows = 1;
  tensor.cols = cols;
  tensor.data = bytes.data();
  REQUIRE(tensor.bytes() == bytes.size());
  Rows rows{std::vector<float>(cols), std::vector<float>(cols)};
  dequantize_row(tensor, 0, rows.before.data());
  const Tensor made = as_kernel_type(tensor);
  rows.type = made.type;
  dequantize_row(made, 0, rows.after.data());
  return rows;
}

/// The largest distance, as a share of the largest value of the 32 around it.
double worst(const Rows& rows) {
  double largest = 0.0;
  for (size_t block = 0; block < cols; block += 32) {
    double peak = 0.0, distance = 0.0;
    for (size_t i = block; i < block + 32; ++i) {
      peak = std::max(peak, std::fabs(double{rows.before[i]}));
      distance = std::max(distance, std::fabs(double{rows.before[i]} - double{rows.after[i]}));
    }
    if (peak > 0.0) largest = std::max(largest, distance / peak);
  }
  return largest;
}

}  // namespace

TEST_CASE("types with a kernel stay as they are") {
  for (const TensorType type :
       {TensorType::f32, TensorType::f16, TensorType::bf16, TensorType::q8_0, TensorType::q4_0,
        TensorType::q4_1, TensorType::q5_0, TensorType::q5_1, TensorType::q4_k, TensorType::q5_k,
        TensorType::q6_k, TensorType::iq4_nl, TensorType::iq4_xs, TensorType::mxfp4}) {
    Tensor tensor;
    tensor.type = type;
    tensor.data = reinterpret_cast<const std::byte*>(&tensor);
    CHECK(kernel_type(type) == type);
    CHECK(as_kernel_type(tensor).data == tensor.data);
  }
}

TEST_CASE("codes times one F16 scale become Q8_0 without loss") {
  for (const TensorType type : {TensorType::tq1_0, TensorType::tq2_0}) {
    const Rows rows = converted(type, row_of(type));
    const std::string type_name = info(type).name;
    CAPTURE(type_name);
    CHECK(rows.type == TensorType::q8_0);
    CHECK(rows.before == rows.after);
  }
}

TEST_CASE("other blocks are rounded to 255 steps") {
  for (const TensorType type : {TensorType::q2_k, TensorType::q3_k, TensorType::iq2_xxs,
                                TensorType::iq2_xs, TensorType::iq2_s, TensorType::iq3_xxs,
                                TensorType::iq3_s, TensorType::iq1_s, TensorType::nvfp4}) {
    const Rows rows = converted(type, row_of(type));
    const std::string type_name = info(type).name;
    CAPTURE(type_name);
    CHECK(rows.type == TensorType::q8_0);
    CHECK(worst(rows) < 1.01 / 254);
    CHECK(*std::ranges::max_element(rows.after) > 0.0f);
  }
}

TEST_CASE("Q8_0 scales at the ends of F16 cut nothing that they can hold") {
  for (const float peak : {1e-5f, 1e-3f, 1.0f, 3e4f, 8e6f}) {
    std::vector<float> values(32, 0.0f);
    values[3] = peak;
    values[9] = -peak;
    Bytes block(34);
    quantize_q8_0_block(values.data(), 0.0f, block.data());
    Tensor tensor;
    tensor.type = TensorType::q8_0;
    tensor.rows = 1;
    tensor.cols = 32;
    tensor.data = block.data();
    std::vector<float> back(32);
    dequantize_row(tensor, 0, back.data());
    CAPTURE(peak);
    // Below 2^-14 an F16 scale has fewer digits.
    const float share = peak < 0.01f ? 0.3f : 0.005f;
    CHECK(std::fabs(back[3] - peak) <= share * peak);
    CHECK(back[9] == -back[3]);
    CHECK(back[0] == 0.0f);
  }
  const std::vector<float> nothing(32, 0.0f);
  Bytes block(34, std::byte{1});
  quantize_q8_0_block(nothing.data(), 0.0f, block.data());
  CHECK(std::ranges::all_of(block, [](std::byte b) { return b == std::byte{0}; }));
}

TEST_CASE("BF16 rounds to the nearest, ties to even") {
  CHECK(float_to_bf16(1.0f) == 0x3f80);
  CHECK(float_to_bf16(1.00390625f) == 0x3f80);  // half way, even below
  CHECK(float_to_bf16(1.01171875f) == 0x3f82);  // half way, even above
  CHECK(float_to_bf16(-3.0e38f) == 0xff62);
  CHECK((float_to_bf16(std::nanf("")) & 0x7fc0) == 0x7fc0);
}

TEST_CASE("FP8 weights are BF16 numbers") {
  Bytes codes(cols);
  for (size_t i = 0; i < cols; ++i) codes[i] = static_cast<std::byte>(i);
  codes[0x7f] = codes[0xff] = codes[0x17f] = codes[0x1ff] = std::byte{0};  // E4M3's NaN
  const Rows rows = converted(TensorType::f8_e4m3, codes);
  CHECK(rows.type == TensorType::bf16);
  CHECK(rows.before == rows.after);
  CHECK(rows.before[0x7e] == 448.0f);
  CHECK(rows.before[0x01] == 0x1p-9f);
  CHECK(rows.before[0x38] == 1.0f);
  CHECK(rows.before[0xb8] == -1.0f);
  Bytes other(cols, std::byte{0x7b});
  CHECK(converted(TensorType::f8_e5m2, other).before[0] == 57344.0f);
}
