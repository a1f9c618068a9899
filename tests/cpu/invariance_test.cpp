// The invariance contract of the forward pass: tokens, log-probabilities and scores of a sequence
// have the same bits whatever the chunks, the company, the threads and the instruction set.
#include <doctest/doctest.h>

#include "cpu/cpu_backend.hpp"
#include "tests/support/all_ways.hpp"
#include "tests/support/isas.hpp"
#include "tests/support/tiny_llama.hpp"

using namespace troupe;
using namespace troupe::cpu;

namespace {

void check_all_ways(const testing::TinyLlamaShape& shape, const CpuOptions& options) {
  testing::ways::check_all_ways(testing::make_tiny_llama(shape), options);
}

}  // namespace

TEST_CASE("Q4_1 with a tied Q8_0 embedding: every way gives the same bits") {
  testing::available_isas();
  check_all_ways({}, {});
}

TEST_CASE("F16 and NEOX rotation: every way gives the same bits") {
  testing::TinyLlamaShape shape;
  shape.matrices = shape.embedding = model::TensorType::f16;
  shape.pairing = model::RopePairing::neox;
  shape.head_dim = 24;
  shape.num_layers = 1;
  CpuOptions options;
  options.kv_types = {kv::KvType::f32, kv::KvType::f32};
  check_all_ways(shape, options);
}

TEST_CASE("Q8_0, one head per KV head: every way gives the same bits") {
  testing::TinyLlamaShape shape;
  shape.matrices = model::TensorType::q8_0;
  shape.num_kv_heads = shape.num_heads = 4;
  check_all_ways(shape, {});
}

TEST_CASE("exact mode: every way gives the same bits") {
  testing::TinyLlamaShape shape;
  shape.num_layers = 1;
  CpuOptions options;
  options.mode = ComputeMode::exact;
  check_all_ways(shape, options);
}

TEST_CASE("keys and values in other types: every way gives the same bits") {
  testing::TinyLlamaShape shape;
  shape.num_layers = 1;
  shape.head_dim = 40;
  shape.num_heads = 8;
  CpuOptions options;
  options.kv_types = {kv::KvType::q8_0, kv::KvType::q8_0};
  check_all_ways(shape, options);
  options.kv_types = {kv::KvType::q8_0, kv::KvType::f16};
  check_all_ways(shape, options);
  options.kv_types = {kv::KvType::bf16, kv::KvType::bf16};
  shape.head_dim = 32;
  check_all_ways(shape, options);
  options.kv_types = {kv::KvType::bf16, kv::KvType::q8_0};
  check_all_ways(shape, options);
}

TEST_CASE("a sequence of several splits: however threads share them, the bits are the same") {
  testing::TinyLlamaShape shape;
  SUBCASE("plain attention") {}
  SUBCASE("attention with all that models ask for") {
    shape.attention_cap = 20.0f;
  }
  const auto model = testing::make_tiny_llama(shape);
  testing::ways::Setup plain;
  plain.prompt = 3070;  // one split ends, and the next one begins, while it decodes
  plain.chunk = 512;
  plain.options.threads = 1;
  const auto want = testing::ways::Run(model, plain)();
  for (const int threads : {2, 3}) {
    for (const size_t chunk : {size_t{512}, size_t{40}}) {
      testing::ways::Setup setup = plain;
      setup.options.threads = threads;
      setup.chunk = chunk;
      CAPTURE(threads);
      CAPTURE(chunk);
      CHECK(testing::ways::Run(model, setup)() == want);
    }
  }
}
