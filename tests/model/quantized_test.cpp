// Quantised checkpoints against values that follow from the definition of each method: a test packs
// chosen codes, scales and zero points, and computes (code - zero) * scale by itself.
#include "model/quantized.hpp"

#include <array>
#include <cmath>
#include <functional>

#include "model/kernel_type.hpp"
#include "tests/model/model_checks.hpp"
#include "tests/support/quantize.hpp"

using namespace troupe;
using namespace troupe::model;
using namespace troupe::testing;

namespace {

/// A table that owns its bytes.
struct Parts {
  TensorTable table;
  std::vector<std::shared_ptr<const Bytes>> owned;

  void add(const std::string& name, TensorType type, std::vector<uint64_t> shape, Bytes bytes) {
    owned.push_back(std::make_shared<const Bytes>(std::move(bytes)));
    StoredTensor tensor;
    tensor.name = name;
    tensor.type = type;
    tensor.shape = std::move(shape);
    tensor.data = *owned.back();
    REQUIRE(table.add(std::move(tensor)).ok());
  }
};

Json config(const std::string& settings) {
  auto json = parse_json("{\"quantization_config\": " + settings + "}");
  REQUIRE(json.ok());
  return *json;
}

std::vector<float> row_of(const TensorTable& table, const std::string& name, uint32_t rows,
                          uint32_t cols, uint32_t row, TensorType* type = nullptr) {
  TensorTaker taker(table);
  const auto tensor = taker.matrix(name, rows, cols);
  if (!tensor.ok()) FAIL(tensor.error().message());
  if (type != nullptr) *type = tensor->type;
  std::vector<float> values(cols);
  dequantize_row(*tensor, row, values.data());
  return values;
}

constexpr uint32_t inputs = 64, outputs = 16, groups = 2;

uint32_t code_at(uint32_t input, uint32_t output) {
  return (input * 7 + output * 5 + input * output) % 16;
}
float scale_at(uint32_t group, uint32_t output) {
  return 0.25f * static_cast<float>(1 + group + output);
}
uint32_t zero_at(uint32_t group, uint32_t output) {
  return 1 + (group * 3 + output) % 15;
}

using Number = std::function<uint32_t(uint32_t, uint32_t)>;

/// Words of 8 codes: [rows, cols / 8], column `order(lane)` of eight in nibble `lane`.
Bytes pack_columns(uint32_t rows, uint32_t cols, const Number& number,
                   const std::array<uint32_t, 8>& order) {
  Bytes bytes;
  for (uint32_t r = 0; r < rows; ++r) {
    for (uint32_t c = 0; c < cols; c += 8) {
      uint32_t word = 0;
      for (uint32_t lane = 0; lane < 8; ++lane) word |= number(r, c + order[lane]) << (4 * lane);
      put(bytes, word);
    }
  }
  return bytes;
}

constexpr std::array<uint32_t, 8> ascending = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr std::array<uint32_t, 8> awq_order = {0, 2, 4, 6, 1, 3, 5, 7};

Bytes scales_as(TensorType type) {
  std::vector<float> values;
  for (uint32_t g = 0; g < groups; ++g) {
    for (uint32_t o = 0; o < outputs; ++o) values.push_back(scale_at(g, o));
  }
  return quantize(values, type);
}

/// GPTQ's parts; `group_of` empty: no g_idx.
Parts gptq(const Number& zero, const std::vector<int32_t>& group_of, TensorType scale_type) {
  Parts parts;
  Bytes words;
  for (uint32_t i = 0; i < inputs; i += 8) {
    for (uint32_t o = 0; o < outputs; ++o) {
      uint32_t word = 0;
      for (uint32_t k = 0; k < 8; ++k) word |= code_at(i + k, o) << (4 * k);
      put(words, word);
    }
  }
  parts.add("a.qweight", TensorType::i32, {inputs / 8, outputs}, words);
  parts.add("a.qzeros", TensorType::i32, {groups, outputs / 8},
            pack_columns(groups, outputs, zero, ascending));
  parts.add("a.scales", scale_type, {groups, outputs}, scales_as(scale_type));
  if (!group_of.empty()) {
    Bytes indices;
    for (const int32_t group : group_of) put(indices, group);
    parts.add("a.g_idx", TensorType::i32, {inputs}, indices);
  }
  return parts;
}

void check_rows(const TensorTable& table, const Number& zero,
                const std::function<uint32_t(uint32_t)>& group_of, TensorType expected_type) {
  for (uint32_t o = 0; o < outputs; ++o) {
    TensorType type = TensorType::f64;
    const auto row = row_of(table, "a.weight", outputs, inputs, o, &type);
    CHECK(type == expected_type);
    for (uint32_t i = 0; i < inputs; ++i) {
      const uint32_t g = group_of(i);
      const int code = static_cast<int>(code_at(i, o)) - static_cast<int>(zero(g, o));
      CHECK(row[i] == static_cast<float>(code) * scale_at(g, o));
    }
  }
  CHECK(table.all().size() == 1);
}

uint32_t consecutive(uint32_t input) {
  return input / (inputs / groups);
}

Status converted(const Json& json, Parts& parts) {
  return convert_quantized(json, parts.table);
}

const char* const gptq_settings = R"({"quant_method": "gptq", "bits": 4, "group_size": 32})";

}  // namespace

TEST_CASE("GPTQ: zero points of 8 make Q4_0, others Q8_0, both exact") {
  Parts symmetric = gptq([](uint32_t, uint32_t) { return 7u; }, {}, TensorType::f16);
  REQUIRE(converted(config(gptq_settings), symmetric).ok());
  check_rows(
      symmetric.table, [](uint32_t, uint32_t) { return 8u; }, consecutive, TensorType::q4_0);

  std::vector<int32_t> group_of;
  for (uint32_t i = 0; i < inputs; ++i) group_of.push_back(static_cast<int32_t>(consecutive(i)));
  const Number less_one = [](uint32_t g, uint32_t o) { return zero_at(g, o) - 1; };
  Parts other = gptq(less_one, group_of, TensorType::f16);
  REQUIRE(converted(config(gptq_settings), other).ok());
  check_rows(other.table, zero_at, consecutive, TensorType::q8_0);

  // The second format stores the zero point itself.
  Parts second = gptq(zero_at, group_of, TensorType::f16);
  REQUIRE(converted(config(R"({"quant_method": "gptq", "bits": 4,
                               "checkpoint_format": "gptq_v2"})"),
                    second)
              .ok());
  check_rows(second.table, zero_at, consecutive, TensorType::q8_0);
}

TEST_CASE("GPTQ: inputs in any order of groups, and scales that are no F16, become F32 values") {
  std::vector<int32_t> group_of;
  for (uint32_t i = 0; i < inputs; ++i) group_of.push_back(static_cast<int32_t>((i * 5 / 3) % 2));
  const Number less_one = [](uint32_t g, uint32_t o) { return zero_at(g, o) - 1; };
  Parts parts = gptq(less_one, group_of, TensorType::f16);
  REQUIRE(converted(config(gptq_settings), parts).ok());
  check_rows(
      parts.table, zero_at, [](uint32_t i) { return (i * 5 / 3) % 2; }, TensorType::scaled_int);
  CHECK(kernel_type(TensorType::scaled_int) == TensorType::q8_0);

  Parts wide = gptq(less_one, {}, TensorType::bf16);
  REQUIRE(converted(config(gptq_settings), wide).ok());
  check_rows(wide.table, zero_at, consecutive, TensorType::scaled_int);
}

TEST_CASE("GPTQ parts that do not fit one another") {
  const Number seven = [](uint32_t, uint32_t) { return 7u; };
  const auto refused = [](Parts parts, Code code, const std::string& what,
                          const char* settings = gptq_settings) {
    const Status status = converted(config(settings), parts);
    REQUIRE_FALSE(status.ok());
    check_error(status.error(), code, what, "");
  };
  Parts parts = gptq(seven, std::vector<int32_t>(inputs, 2), TensorType::f16);
  refused(parts, Code::corrupt, "puts input 0 into group 2");
  parts = gptq(seven, std::vector<int32_t>(inputs, -1), TensorType::f16);
  refused(parts, Code::corrupt, "into group 4294967295");
  parts = gptq(seven, {}, TensorType::f16);
  parts.table.remove("a.qzeros");
  refused(parts, Code::corrupt, "\"a.qzeros\" is missing");
  parts = gptq(seven, {}, TensorType::f16);
  parts.table.remove("a.scales");
  refused(parts, Code::corrupt, "do not fit");
  parts = gptq(seven, {}, TensorType::f16);
  parts.table.remove("a.scales");
  parts.add("a.scales", TensorType::f16, {3, outputs}, Bytes(3 * outputs * 2));
  refused(parts, Code::corrupt, "3 groups");
  refused(gptq(seven, {}, TensorType::f16), Code::unsupported, "with 3 bits",
          R"({"quant_method": "gptq", "bits": 3})");
  refused(gptq(seven, {}, TensorType::f16), Code::unsupported, "\"marlin\"",
          R"({"quant_method": "gptq", "bits": 4, "checkpoint_format": "marlin"})");
  refused(gptq(seven, {}, TensorType::f16), Code::unsupported, "the quantisation method is \"hqq\"",
          R"({"quant_method": "hqq"})");
}

TEST_CASE("AWQ: of eight outputs the even ones lie in the lower half of a word") {
  // Outputs 0 to 7 with the codes 0 to 7.
  const Number lanes = [](uint32_t, uint32_t output) { return output % 8; };
  const Bytes word = pack_columns(1, 8, lanes, awq_order);
  uint32_t value;
  std::memcpy(&value, word.data(), 4);
  CHECK(value == 0x75316420u);

  for (const bool centred : {true, false}) {
    const Number zero = centred ? Number([](uint32_t, uint32_t) { return 8u; }) : Number(zero_at);
    Parts parts;
    parts.add("a.qweight", TensorType::i32, {inputs, outputs / 8},
              pack_columns(inputs, outputs, code_at, awq_order));
    parts.add("a.qzeros", TensorType::i32, {groups, outputs / 8},
              pack_columns(groups, outputs, zero, awq_order));
    parts.add("a.scales", TensorType::f16, {groups, outputs}, scales_as(TensorType::f16));
    REQUIRE(
        converted(config(R"({"quant_method": "awq", "bits": 4, "version": "gemm"})"), parts).ok());
    check_rows(parts.table, zero, consecutive, centred ? TensorType::q4_0 : TensorType::q8_0);
  }
  Parts none;
  CHECK(converted(config(R"({"quant_method": "awq", "bits": 4, "version": "gemv"})"), none)
            .error()
            .code == Code::unsupported);
}

TEST_CASE("FP8 with one scale for each block, the last blocks cut") {
  // 5 x 7 in blocks of 2 x 4: scales [3, 2].
  Parts parts;
  Bytes codes;
  for (int i = 0; i < 35; ++i) codes.push_back(static_cast<std::byte>(0x38 + i % 8));  // 1 + i / 8
  parts.add("m.weight", TensorType::f8_e4m3, {5, 7}, codes);
  const std::vector<float> scales = {1.5f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
  parts.add("m.weight_scale_inv", TensorType::f32, {3, 2}, quantize(scales, TensorType::f32));
  parts.add("m.input_scale", TensorType::f32, {1}, quantize(std::vector{1.0f}, TensorType::f32));
  parts.add("norm.weight", TensorType::f32, {1}, quantize(std::vector{1.0f}, TensorType::f32));
  REQUIRE(converted(config(R"({"quant_method": "fp8", "weight_block_size": [2, 4]})"), parts).ok());
  for (uint32_t r = 0; r < 5; ++r) {
    const auto row = row_of(parts.table, "m.weight", 5, 7, r);
    for (uint32_t c = 0; c < 7; ++c) {
      const float code = 1.0f + static_cast<float>((r * 7 + c) % 8) / 8.0f;
      CHECK(row[c] == code * scales[r / 2 * 2 + c / 4]);
    }
  }
  CHECK(parts.table.find("m.input_scale") == nullptr);
  CHECK(parts.table.all().size() == 2);
  CHECK(kernel_type(TensorType::scaled_f8) == TensorType::bf16);
}

TEST_CASE("8-bit weights with a scale for the tensor or for each row") {
  for (const bool rows : {false, true}) {
    Parts parts;
    Bytes codes;
    for (int i = -6; i < 6; ++i) put(codes, static_cast<int8_t>(i * 20));
    parts.add("m.weight", TensorType::i8, {3, 4}, codes);
    const std::vector<float> scales = rows ? std::vector{0.5f, 0.25f, 2.0f} : std::vector{0.5f};
    const std::vector<uint64_t> shape =
        rows ? std::vector<uint64_t>{3, 1} : std::vector<uint64_t>{};
    parts.add("m.weight_scale", TensorType::bf16, shape, quantize(scales, TensorType::bf16));
    REQUIRE(converted(config(R"({"quant_method": "compressed-tensors"})"), parts).ok());
    TensorType type = TensorType::f64;
    const auto row = row_of(parts.table, "m.weight", 3, 4, 2, &type);
    CHECK(type == TensorType::scaled_int);
    const float scale = rows ? 2.0f : 0.5f;
    CHECK(row == std::vector<float>{40 * scale, 60 * scale, 80 * scale, 100 * scale});
  }
}

TEST_CASE("scales that do not fit their weight") {
  const auto refused = [](TensorType type, std::vector<uint64_t> shape, TensorType scale_type,
                          std::vector<uint64_t> scale_shape, Code code, const std::string& what) {
    Parts parts;
    const auto bytes = [](const std::vector<uint64_t>& dims, TensorType t) {
      size_t count = info(t).block_bytes;
      for (const uint64_t dim : dims) count *= dim;
      return Bytes(count);
    };
    if (!shape.empty()) parts.add("m.weight", type, shape, bytes(shape, type));
    parts.add("m.weight_scale_inv", scale_type, scale_shape, bytes(scale_shape, scale_type));
    const Status status =
        converted(config(R"({"quant_method": "fp8", "weight_block_size": [2, 4]})"), parts);
    REQUIRE_FALSE(status.ok());
    check_error(status.error(), code, what, "");
  };
  const TensorType e4m3 = TensorType::f8_e4m3, f32 = TensorType::f32;
  refused(e4m3, {4, 8}, f32, {3, 2}, Code::corrupt, "has the shape [3, 2]");
  refused(e4m3, {4, 8}, f32, {2, 2, 1}, Code::corrupt, "has the shape [2, 2, 1]");
  refused(e4m3, {}, f32, {1}, Code::corrupt, "has no matrix \"m.weight\"");
  refused(e4m3, {32}, f32, {1}, Code::corrupt, "has no matrix");
  refused(f32, {4, 8}, f32, {2, 2}, Code::unsupported, "has the type F32 with scales in F32");
  refused(e4m3, {4, 8}, TensorType::i32, {2, 2}, Code::unsupported, "scales in I32");
}

TEST_CASE("MXFP4 of GPT-OSS: neighbours share a byte, rows are outputs") {
  constexpr uint32_t experts = 2, rows = 3, cols = 64;
  constexpr float fp4[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};
  const auto code = [](uint32_t e, uint32_t r, uint32_t c) { return (e * 5 + r * 3 + c * 7) % 16; };
  const auto exponent = [](uint32_t e, uint32_t r, uint32_t b) { return 120 + e + 2 * r + 3 * b; };
  Bytes blocks, scales;
  for (uint32_t e = 0; e < experts; ++e) {
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t c = 0; c < cols; c += 2) {
        blocks.push_back(static_cast<std::byte>(code(e, r, c) | (code(e, r, c + 1) << 4)));
      }
      for (uint32_t b = 0; b < cols / 32; ++b) {
        scales.push_back(static_cast<std::byte>(exponent(e, r, b)));
      }
    }
  }
  Parts parts;
  parts.add("x.down_proj_blocks", TensorType::u8, {experts, rows, cols / 32, 16}, blocks);
  parts.add("x.down_proj_scales", TensorType::u8, {experts, rows, cols / 32}, scales);
  REQUIRE(converted(config(R"({"quant_method": "mxfp4"})"), parts).ok());
  TensorTaker taker(parts.table);
  const auto stack = taker.stack("x.down_proj.rows", experts, rows, cols);
  REQUIRE(stack.ok());
  CHECK((*stack)[1].type == TensorType::mxfp4);
  for (uint32_t e = 0; e < experts; ++e) {
    for (uint32_t r = 0; r < rows; ++r) {
      std::vector<float> row(cols);
      dequantize_row((*stack)[e], r, row.data());
      for (uint32_t c = 0; c < cols; ++c) {
        const int power = static_cast<int>(exponent(e, r, c / 32)) - 127;
        CHECK(row[c] == std::ldexp(fp4[code(e, r, c)], power));
      }
    }
  }
  parts = Parts();
  parts.add("x_blocks", TensorType::u8, {2, 3, 2, 15}, Bytes(180));
  CHECK(converted(config(R"({"quant_method": "mxfp4"})"), parts).error().code == Code::corrupt);
  parts = Parts();
  parts.add("x_blocks", TensorType::u8, {2, 3, 2, 16}, Bytes(192));
  parts.add("x_scales", TensorType::u8, {2, 3, 3}, Bytes(18));
  CHECK(converted(config(R"({"quant_method": "mxfp4"})"), parts).error().code == Code::corrupt);
}

TEST_CASE("a checkpoint that is not quantised stays as it is") {
  Parts parts;
  parts.add("m.weight", TensorType::f8_e5m2, {1, 2}, Bytes(2, std::byte{0x3c}));
  const auto json = parse_json("{}");
  REQUIRE(json.ok());
  REQUIRE(convert_quantized(*json, parts.table).ok());
  CHECK(row_of(parts.table, "m.weight", 1, 2, 0) == std::vector<float>{1.0f, 1.0f});
}
