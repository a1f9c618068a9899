#include "model/tensor_table.hpp"

#include <cstring>
#include <numeric>

#include "base/concat.hpp"
#include "model/gguf_table.hpp"
#include "model/tensor_views.hpp"
#include "tests/model/model_checks.hpp"

using namespace troupe;
using namespace troupe::model;
using namespace troupe::testing;

namespace {

/// 0, 1, 2, … in the stored form of `type`.
Bytes counting(size_t count, TensorType type) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return quantize(values, type);
}

StoredTensor stored(const std::string& name, std::vector<uint64_t> shape, TensorType type,
                    const Bytes& bytes) {
  StoredTensor tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.shape = std::move(shape);
  tensor.data = bytes;
  return tensor;
}

std::vector<float> row(const Tensor& tensor, uint32_t index) {
  std::vector<float> values(tensor.cols);
  dequantize_row(tensor, index, values.data());
  return values;
}

}  // namespace

TEST_CASE("weights are taken by name and shape, and what is left is found") {
  const Bytes bytes = counting(24, TensorType::bf16);
  TensorTable table;
  REQUIRE(table.add(stored("m", {4, 6}, TensorType::bf16, bytes)).ok());
  REQUIRE(table.add(stored("stack", {2, 3, 4}, TensorType::bf16, bytes)).ok());
  REQUIRE(table.add(stored("v", {1, 24}, TensorType::bf16, bytes)).ok());
  REQUIRE(table.add(stored("ids", {6}, TensorType::i32, bytes)).ok());
  check_error(table.add(stored("m", {1}, TensorType::f32, bytes)).error(), Code::corrupt,
              "\"m\" occurs twice", "");

  TensorTaker taker(table);
  CHECK(taker.has("m"));
  CHECK_FALSE(taker.has("n"));
  const auto m = taker.matrix("m", 4, 6);
  REQUIRE(m.ok());
  CHECK(row(*m, 3) == std::vector<float>{18, 19, 20, 21, 22, 23});
  CHECK(taker.vector("v", 24)->cols == 24);
  const auto stack = taker.stack("stack", 2, 3, 4);
  REQUIRE(stack.ok());
  REQUIRE(stack->size() == 2);
  CHECK((*stack)[1].name == "stack[1]");
  CHECK(row((*stack)[1], 2) == std::vector<float>{20, 21, 22, 23});

  check_error(taker.matrix("n", 4, 6).error(), Code::corrupt, "n is missing", "[4, 6]");
  check_error(taker.matrix("m", 6, 4).error(), Code::corrupt, "shape [4, 6]", "[6, 4]");
  check_error(taker.vector("ids", 6).error(), Code::unsupported, "the type I32", "supported: F32");
  check_error(taker.check_all_used("a toy").error(), Code::unsupported, "\"ids\", which a toy",
              "wrong text");
  taker.ignore("ids");
  CHECK(taker.check_all_used("a toy").ok());
}

TEST_CASE("a GGUF file fills the same table, outermost dimension first") {
  TinyLlamaOptions options = smallest();
  const Bytes bytes = tiny_llama(options).build();
  const auto file = GgufFile::parse(bytes);
  REQUIRE(file.ok());
  const auto table = gguf_table(*file);
  REQUIRE(table.ok());
  CHECK(table->find("blk.0.attn_k.weight")->shape == std::vector<uint64_t>{16, 32});
  CHECK(table->find("blk.0.attn_k.weight")->type == TensorType::q8_0);
  CHECK(table->all().size() == file->tensors().size());

  for (const uint32_t type : {999u, 1000u, 4u}) {
    GgufWriter writer = tiny_llama(options);
    writer.tensor("blk.0.attn_v.weight").type = type;
    const Bytes other = writer.build();
    const auto parsed = GgufFile::parse(other);
    if (!parsed.ok()) continue;
    const auto refused = gguf_table(*parsed);
    REQUIRE_FALSE(refused.ok());
    check_error(refused.error(), Code::unsupported, concat("type ", type), "supported: F32");
  }
}

TEST_CASE("views cut rows and columns without a copy") {
  for (const TensorType type : {TensorType::f32, TensorType::f16, TensorType::bf16}) {
    const Bytes bytes = counting(24, type);
    const Tensor whole{"t", type, 4, 6, bytes.data()};
    CHECK(row(slice_rows(whole, 1, 2, "s"), 1) == std::vector<float>{12, 13, 14, 15, 16, 17});
    const Tensor gathered = gather_rows(whole, {3, 0}, "g");
    CHECK(gathered.rows == 2);
    CHECK(row(gathered, 1) == row(whole, 0));
    CHECK(row(slice_rows(gathered, 1, 1, "gs"), 0) == row(whole, 0));
    const Tensor odd = columns_as_rows(whole, 1, 2, 3, "c");
    CHECK(odd.type == type);
    CHECK(odd.rows == 3);
    CHECK(odd.cols == 4);
    CHECK(row(odd, 2) == std::vector<float>{5, 11, 17, 23});
    CHECK(row(columns_as_rows(gathered, 0, 1, 6, "gc"), 4) == std::vector<float>{22, 4});
    CHECK(row(slice_cols(whole, 2, 3, "sc"), 1) == std::vector<float>{8, 9, 10});
  }
}

TEST_CASE("columns of a blocked type become F32 rows") {
  WeightSource source(3);
  const Bytes bytes = quantize(source.vector(3 * 64, 0.0f, 1.0f), TensorType::q8_0);
  const Tensor whole{"t", TensorType::q8_0, 3, 64, bytes.data()};
  const Tensor turned = columns_as_rows(whole, 0, 1, 64, "turned");
  CHECK(turned.type == TensorType::f32);
  CHECK(row(turned, 40) ==
        std::vector<float>{row(whole, 0)[40], row(whole, 1)[40], row(whole, 2)[40]});
  const Tensor half = slice_cols(whole, 32, 32, "half");
  CHECK(half.type == TensorType::q8_0);
  CHECK(row(half, 2)[5] == row(whole, 2)[37]);
}
