// Every matrix kernel of every instruction set against the plain reading of the numerics page.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "cpu/matmul_reference.hpp"
#include "cpu/packed_matrix.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/isas.hpp"
#include "tests/support/quantize.hpp"
#include "tests/support/random_blocks.hpp"

using namespace troupe;
using namespace troupe::cpu;
using model::Tensor;
using model::TensorType;

namespace {

struct Case {
  TensorType type;
  uint32_t rows, cols, tokens, unit_cols;
  bool add;
};

Tensor tensor_of(TensorType type, uint32_t rows, uint32_t cols, const testing::Bytes& bytes) {
  Tensor tensor;
  tensor.name = std::string("weights");
  tensor.type = type;
  tensor.rows = rows;
  tensor.cols = cols;
  tensor.data = reinterpret_cast<const std::byte*>(bytes.data());
  return tensor;
}

bool quantized(TensorType type) {
  return model::info(type).block_size > 1;
}

std::vector<float> expected(const Tensor& tensor, const Case& c, const std::vector<float>& x,
                            std::vector<float> y) {
  const uint32_t step = model::info(c.type).block_size, step_blocks = step / quant_block;
  const auto begins = segment_begins(c.cols, step, c.unit_cols);
  std::vector<float> row(c.cols);
  std::vector<reference::WeightBlock> weights(quantized(c.type) ? c.cols / quant_block : 0);
  std::vector<QuantizedBlock> blocks(size_t{c.tokens} * (c.cols / quant_block));
  for (uint32_t t = 0; t < c.tokens && quantized(c.type); ++t) {
    reference::quantize_activations(&x[size_t{t} * c.cols], c.cols / quant_block,
                                    &blocks[t * weights.size()]);
  }
  for (uint32_t r = 0; r < c.rows; ++r) {
    const std::byte* stored = tensor.data + r * tensor.row_bytes();
    model::dequantize_row(tensor, r, row.data());
    for (uint32_t i = 0; i < weights.size(); ++i) {
      weights[i] = reference::read_block(c.type, stored, i);
    }
    for (uint32_t t = 0; t < c.tokens; ++t) {
      const float* in = &x[size_t{t} * c.cols];
      const float sum = reference::reduce(begins, [&](uint32_t k, float acc) {
        if (!quantized(c.type)) return std::fma(row[k], in[k], acc);
        for (uint32_t i = k * step_blocks; i < (k + 1) * step_blocks; ++i) {
          acc = reference::add_block(weights[i], blocks[t * weights.size() + i], acc);
        }
        return acc;
      });
      float& out = y[size_t{t} * c.rows + r];
      out = c.add ? out + sum : sum;
    }
  }
  return y;
}

void check(const Case& c, const testing::Bytes& bytes, const std::vector<float>& x) {
  const Tensor tensor = tensor_of(c.type, c.rows, c.cols, bytes);
  const std::vector<float> start = testing::random_floats(size_t{c.tokens} * c.rows, 7);
  const std::vector<float> want = expected(tensor, c, x, start);
  MemoryArena arena;
  ThreadPool pool(1);
  auto packed = PackedMatrix::pack(tensor, ComputeMode::fast, c.unit_cols, arena, pool);
  REQUIRE(packed.ok());
  for (const Isa isa : all_isas) {
    if (!cpu_has(isa)) continue;
    const KernelTable& table = kernels(isa);
    std::vector<QuantizedBlock> blocks(size_t{c.tokens} * (c.cols / quant_block));
    if (packed->quantized()) {
      table.quantize_activations(x.data(), static_cast<uint32_t>(blocks.size()), blocks.data());
    }
    for (const bool strips : {false, true}) {
      std::vector<float> y = start;
      std::vector<CacheLine> strip(matmul_strip_lines(c.cols));
      MatmulArgs args;
      args.matrix = packed->view();
      args.values = x.data();
      args.blocks = blocks.data();
      args.tokens = c.tokens;
      args.out = y.data();
      args.out_stride = c.rows;
      args.add = c.add;
      args.panel_end = packed->num_panels();
      if (strips) args.strip = strip.data();
      packed->kernel(table)(args);
      CAPTURE(std::string(name(isa)));
      CAPTURE(std::string(model::info(c.type).name));
      CAPTURE(c.rows);
      CAPTURE(c.cols);
      CAPTURE(c.tokens);
      CAPTURE(c.unit_cols);
      CAPTURE(strips);
      CHECK(testing::first_difference(y, want) == -1);
    }
  }
}

constexpr TensorType all_types[] = {
    TensorType::f32,  TensorType::f16,    TensorType::bf16,   TensorType::q8_0, TensorType::q4_0,
    TensorType::q4_1, TensorType::q5_0,   TensorType::q5_1,   TensorType::q4_k, TensorType::q5_k,
    TensorType::q6_k, TensorType::iq4_nl, TensorType::iq4_xs, TensorType::mxfp4};

testing::Bytes weights_of(TensorType type, uint32_t rows, uint32_t cols, uint32_t seed) {
  const size_t count = size_t{rows} * cols;
  if (!quantized(type)) return testing::quantize(testing::random_floats(count, seed), type);
  return testing::random_blocks(type, count / model::info(type).block_size, seed);
}

/// `cols` or, where a block is longer, as many blocks.
uint32_t whole_blocks(TensorType type, uint32_t cols) {
  const uint32_t block = model::info(type).block_size;
  return block <= quant_block ? cols : cols / quant_block * block;
}

}  // namespace

TEST_CASE("matrix kernels equal the reference over odd shapes") {
  testing::available_isas();
  for (const TensorType type : all_types) {
    for (const uint32_t rows : {1u, 16u, 17u, 50u}) {
      for (const uint32_t blocks : {1u, 3u, 10u}) {
        if (blocks == 10 && model::info(type).block_size > quant_block && rows > 1) continue;
        const uint32_t cols = whole_blocks(type, blocks * quant_block);
        const testing::Bytes bytes = weights_of(type, rows, cols, rows + cols);
        for (const uint32_t tokens : {1u, 2u, 3u, 4u, 7u, 13u, 31u}) {
          const auto x = testing::random_floats(size_t{tokens} * cols, tokens, 3.0f);
          check({type, rows, cols, tokens, 0, false}, bytes, x);
          check({type, rows, cols, tokens, 32, true}, bytes, x);
          check({type, rows, cols, tokens, 96, false}, bytes, x);
        }
      }
    }
  }
}

TEST_CASE("float matrices may have any number of columns") {
  for (const TensorType type : {TensorType::f32, TensorType::f16, TensorType::bf16}) {
    for (const uint32_t cols : {1u, 7u, 33u}) {
      const testing::Bytes bytes = testing::quantize(testing::random_floats(19 * cols, 1), type);
      for (const uint32_t tokens : {5u, 23u}) {
        const auto x = testing::random_floats(tokens * cols, 2);
        check({type, 19, cols, tokens, 0, false}, bytes, x);
        check({type, 19, cols, tokens, 3, false}, bytes, x);
      }
    }
  }
}

TEST_CASE("more tokens than one chunk give the same bits") {
  for (const TensorType type : all_types) {
    const uint32_t cols = whole_blocks(type, 64);
    check({type, 32, cols, 133, 32, false}, weights_of(type, 32, cols, 1),
          testing::random_floats(size_t{133} * cols, 2));
  }
}

TEST_CASE("strips that would not stay in the cache are not made, with the same bits") {
  const uint32_t cols = strip_bytes_max / 20 / 32 * 32 + 64;
  check({TensorType::q4_0, 1, cols, 9, 0, false}, weights_of(TensorType::q4_0, 1, cols, 1),
        testing::random_floats(size_t{9} * cols, 2));
}

TEST_CASE("integer sums stay exact at the ends of the ranges") {
  constexpr uint32_t rows = 16, tokens = 13;
  for (const TensorType type : all_types) {
    if (!quantized(type)) continue;
    const uint32_t cols = whole_blocks(type, 64);
    for (const uint8_t filling :
         {uint8_t{0x00}, uint8_t{0x80}, uint8_t{0x7f}, uint8_t{0xff}, uint8_t{0x77}}) {
      testing::Bytes bytes = weights_of(type, rows, cols, 3);
      const testing::Bytes before = bytes;
      // F16 numbers and MXFP4's exponent keep their values; every weight becomes -128, 127, 15, ...
      const size_t block = model::info(type).block_bytes;
      std::fill(bytes.begin(), bytes.end(), static_cast<std::byte>(filling));
      for (size_t at = 0; at < bytes.size(); at += block) {
        for (const size_t place : testing::half_places(type)) {
          std::memcpy(&bytes[at + place], &before[at + place], 2);
        }
        if (type == TensorType::mxfp4) bytes[at] = before[at];
      }
      for (const float sign : {1.0f, -1.0f}) {
        check({type, rows, cols, tokens, 0, false}, bytes,
              std::vector<float>(tokens * cols, sign * 127.0f));
      }
    }
  }
}

TEST_CASE("zeros, denormals, infinities and NaN go the reference's way") {
  constexpr uint32_t rows = 17, tokens = 9;
  const float specials[] = {0.0f, -0.0f, 1e-42f, -1e-45f, 3e38f, INFINITY, -INFINITY, NAN};
  for (const TensorType type : all_types) {
    const uint32_t cols = whole_blocks(type, 64);
    const testing::Bytes bytes = weights_of(type, rows, cols, 3);
    for (const float special : specials) {
      std::vector<float> all(tokens * cols, special);
      check({type, rows, cols, tokens, 32, false}, bytes, all);
      auto some = testing::random_floats(tokens * cols, 4);
      for (size_t i = 0; i < some.size(); i += 41) some[i] = special;
      check({type, rows, cols, tokens, 32, false}, bytes, some);
    }
  }
}

TEST_CASE("scales of every kind go the reference's way") {
  constexpr uint32_t rows = 16, tokens = 9;
  // Zeros, denormals, the ends, infinities, NaN as F16; the same bytes are MXFP4's exponents.
  constexpr uint16_t patterns[] = {0x0000, 0x8000, 0x0001, 0x8002, 0x7bff,
                                   0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x0401};
  for (const TensorType type : all_types) {
    if (!quantized(type)) continue;
    const uint32_t cols = whole_blocks(type, 64);
    testing::Bytes bytes = weights_of(type, rows, cols, 5);
    size_t n = 0;
    for (size_t at = 0; at < bytes.size(); at += model::info(type).block_bytes, ++n) {
      const uint16_t pattern = patterns[n % std::size(patterns)];
      for (const size_t place : testing::half_places(type)) {
        std::memcpy(&bytes[at + place], &pattern, sizeof pattern);
      }
      if (type == TensorType::mxfp4) bytes[at] = static_cast<std::byte>(pattern);
    }
    check({type, rows, cols, tokens, 0, false}, bytes,
          testing::random_floats(size_t{tokens} * cols, 6, 3.0f));
    check({type, rows, cols, tokens, 32, true}, bytes,
          testing::random_floats(size_t{tokens} * cols, 7, 1e-37f));
  }
}

TEST_CASE("segments are whole units, and all of them are there") {
  CHECK(segment_begins(576, 32, 0) == std::vector<uint32_t>{0, 18});
  // SmolLM2's attention output: 3 groups of 192 columns over 8 segments.
  CHECK(segment_begins(576, 32, 192) == std::vector<uint32_t>{0, 0, 0, 6, 6, 6, 12, 12, 18});
  CHECK(segment_begins(1536, 32, 32) == std::vector<uint32_t>{0, 6, 12, 18, 24, 30, 36, 42, 48});
  // Superblocks of 256, in which a group of 192 is no whole number: three groups are four of them.
  CHECK(segment_begins(1536, 256, 32) == std::vector<uint32_t>{0, 0, 1, 2, 3, 3, 4, 5, 6});
  CHECK(segment_begins(1536, 256, 192) == std::vector<uint32_t>{0, 0, 0, 0, 3, 3, 3, 3, 6});
  CHECK(segment_begins(7, 1, 3) == std::vector<uint32_t>{0, 0, 0, 3, 3, 3, 6, 6, 7});
}

TEST_CASE("a row that does not fill its blocks is refused") {
  MemoryArena arena;
  ThreadPool pool(1);
  const testing::Bytes bytes(100);
  auto packed = PackedMatrix::pack(tensor_of(TensorType::q4_1, 1, 33, bytes), ComputeMode::fast, 0,
                                   arena, pool);
  REQUIRE(!packed.ok());
  CHECK(packed.error().code == Code::corrupt);
}
