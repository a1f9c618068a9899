#include "model/weights_digest.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "model/limits.hpp"
#include "tests/support/pattern.hpp"

namespace troupe::model {
namespace {

constexpr uint64_t cols = 1024;
constexpr uint64_t rows = 1000;  // 4 bytes each: three pieces and the most part of a fourth

TensorTable table_of(const std::vector<std::byte>& bytes, bool by_rows) {
  StoredTensor tensor;
  tensor.name = "w";
  tensor.shape = {rows, cols};
  if (by_rows) {
    tensor.read_row = std::make_shared<const ReadRow>([&bytes](uint32_t row, std::byte* out) {
      std::memcpy(out, bytes.data() + row * cols * sizeof(float), cols * sizeof(float));
    });
  } else {
    tensor.data = bytes;
  }
  TensorTable table;
  REQUIRE(table.add(std::move(tensor)).ok());
  return table;
}

TEST_CASE("each piece of a tensor counts, whoever hashes it, stored or made by rows") {
  std::vector<std::byte> bytes = testing::pattern(rows * cols * sizeof(float), 1);
  REQUIRE(bytes.size() > 3 * limits::digest_piece_bytes);
  for (const bool by_rows : {false, true}) {
    const TensorTable table = table_of(bytes, by_rows);
    const Digest whole = weights_digest(table);
    for (int again = 0; again < 5; ++again) CHECK(weights_digest(table) == whole);
    for (size_t at = 0; at < bytes.size(); at += bytes.size() / 7) {
      bytes[at] ^= std::byte{1};
      CHECK(weights_digest(table) != whole);
      bytes[at] ^= std::byte{1};
    }
    const auto swap_pieces = [&bytes] {
      std::swap_ranges(bytes.begin(), bytes.begin() + limits::digest_piece_bytes,
                       bytes.begin() + limits::digest_piece_bytes);
    };
    swap_pieces();
    CHECK(weights_digest(table) != whole);
    swap_pieces();
    CHECK(weights_digest(table) == whole);
  }
}

}  // namespace
}  // namespace troupe::model
