#include "cpu/packing_report.hpp"

#include <doctest/doctest.h>

#include "cpu/memory_needs.hpp"
#include "cpu/packed_matrix.hpp"
#include "tests/support/tiny_llama.hpp"

using namespace troupe;
using namespace troupe::cpu;

namespace {

model::Tensor matrix_of(model::TensorType type, uint32_t rows, uint32_t cols) {
  static const std::vector<std::byte> bytes(1 << 20);
  model::Tensor tensor;
  tensor.name = "m";
  tensor.type = type;
  tensor.rows = rows;
  tensor.cols = cols;
  tensor.data = bytes.data();
  return tensor;
}

}  // namespace

TEST_CASE("what a matrix will take is what it takes") {
  ThreadPool pool(1);
  for (const auto type :
       {model::TensorType::f16, model::TensorType::q4_0, model::TensorType::q5_1,
        model::TensorType::q4_k, model::TensorType::q6_k, model::TensorType::mxfp4,
        model::TensorType::q2_k, model::TensorType::f8_e4m3}) {
    for (const ComputeMode mode : {ComputeMode::fast, ComputeMode::exact}) {
      const model::Tensor tensor = matrix_of(type, 33, 512);
      MemoryArena arena;
      const auto packed = PackedMatrix::pack(tensor, mode, 0, arena, pool);
      REQUIRE(packed.ok());
      CHECK(packed_matrix_bytes(tensor, mode) == packed->bytes());
    }
  }
  CHECK(packed_matrix_bytes(model::Tensor(), ComputeMode::fast) == 0u);
}

TEST_CASE("the report says what was converted and what that takes") {
  PackingReport fast(1 << 20, ComputeMode::fast);
  fast.add(matrix_of(model::TensorType::q4_0, 16, 512), 16 * 512 / 32 * 18);
  fast.add(matrix_of(model::TensorType::q4_k, 16, 512), 2 * 2368);
  CHECK(fast.conversions().empty());
  fast.add(matrix_of(model::TensorType::tq2_0, 16, 512), 16 * 512 / 32 * 34);
  fast.add(matrix_of(model::TensorType::tq2_0, 16, 512), 16 * 512 / 32 * 34);
  fast.add(matrix_of(model::TensorType::q3_k, 16, 512), 16 * 512 / 32 * 34);
  CHECK(fast.conversions() ==
        "Q3_K computed as Q8_0: 3.4 KiB become 8.5 KiB; TQ2_0 computed as Q8_0: 4.1 KiB become "
        "17.0 KiB");
  PackingReport exact(1 << 20, ComputeMode::exact);
  exact.add(matrix_of(model::TensorType::f16, 16, 512), 16 * 512 * 4);
  CHECK(exact.conversions() == "F16 computed as F32: 16.0 KiB become 32.0 KiB");
}

TEST_CASE("weights that do not fit are refused with both numbers") {
  CHECK(check_weights_fit(1).ok());
  const Status status = check_weights_fit(uint64_t{1} << 60);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == Code::exhausted);
  CHECK(status.error().what.find("take 1048576 TiB, and ") != std::string::npos);
  CHECK(status.error().what.find(" of memory are left") != std::string::npos);
}
