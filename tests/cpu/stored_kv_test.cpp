// Keys and values written and read back: every type, odd sizes, extremes, the same bits on every
// instruction set, and nothing beside the slot that is written or read.
#include "tests/support/stored_kv.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "cpu/kernel_table.hpp"
#include "cpu/read_kv.hpp"
#include "cpu/simd_scalar.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/isas.hpp"

using namespace troupe;
using namespace troupe::cpu;

namespace {

constexpr uint32_t tokens = 64;

/// Every kind of float in turn, rows of their own kinds: ordinary, tiny, huge, with bad ones.
std::vector<float> row_of(uint32_t kind, uint32_t dim) {
  std::vector<float> x = testing::random_floats(dim, 100 * kind + dim);
  const float factors[] = {1.0f, 1e-9f, 6e-6f, 1e5f, 8.3e6f, 3e38f, 1e-42f, 0.0f};
  for (float& one : x) one *= factors[kind % std::size(factors)];
  if (kind % 5 == 1) x[dim / 2] = -0.0f;
  if (kind % 7 == 3) x[dim - 1] = 127.5f;
  if (kind == 20) x[0] = NAN;
  if (kind == 21) x[dim - 1] = INFINITY;
  if (kind == 22) x[dim / 3] = -INFINITY;
  return x;
}

struct Block {
  std::vector<std::byte> keys, values;

  Block(kv::KvTypes types, uint32_t dim)
      : keys(kv::stored_bytes(types.keys, dim, tokens), std::byte{0xa5}),
        values(kv::stored_bytes(types.values, dim, tokens), std::byte{0xa5}) {}
  bool operator==(const Block&) const = default;
};

void write(Isa isa, kv::KvTypes types, uint32_t dim, uint32_t slot, const std::vector<float>& x,
           Block& block) {
  WriteKvArgs args;
  args.types = types;
  args.keys = block.keys.data();
  args.values = block.values.data();
  args.slot = slot;
  args.head_dim = dim;
  args.key = args.value = x.data();
  kernels(isa).write_kv(args);
}

size_t written(const std::vector<std::byte>& bytes) {
  return bytes.size() -
         static_cast<size_t>(std::count(bytes.begin(), bytes.end(), std::byte{0xa5}));
}

}  // namespace

TEST_CASE("what is stored reads back as the numerics page says, in every type") {
  for (const kv::KvType type : kv::all_kv_types) {
    for (const uint32_t dim : {1u, 7u, 20u, 31u, 32u, 33u, 64u, 80u, 129u}) {
      CAPTURE(std::string(kv::name(type)));
      CAPTURE(dim);
      const uint32_t valid = 23;
      Block first({type, type}, dim);
      std::vector<float> want;
      for (uint32_t slot = 0; slot < valid; ++slot) {
        const std::vector<float> x = row_of(slot, dim);
        write(Isa::scalar, {type, type}, dim, slot, x, first);
        const std::vector<float> stored = testing::as_stored(type, x, dim);
        want.insert(want.end(), stored.begin(), stored.end());
      }
      const std::vector<float> untouched(size_t{dim} * tokens, -7.0f);
      std::vector<float> k = untouched, v = untouched;
      read_keys<ScalarIsa>(type, first.keys.data(), dim, valid, k.data());
      read_values<ScalarIsa>(type, first.values.data(), dim, dim, valid, v.data());
      for (uint32_t slot = 0; slot < tokens; ++slot) {
        for (uint32_t d = 0; d < dim; ++d) {
          const float right = slot < valid ? want[size_t{slot} * dim + d] : -7.0f;
          CHECK(testing::same_bits(k[size_t{d} * tokens + slot], right));
          CHECK(testing::same_bits(v[size_t{slot} * dim + d], right));
        }
      }
    }
  }
}

TEST_CASE("every instruction set stores the same bytes, and only those of the slot") {
  for (const kv::KvType keys : kv::all_kv_types) {
    for (const kv::KvType values : kv::all_kv_types) {
      for (const uint32_t dim : {1u, 20u, 33u, 64u, 80u}) {
        CAPTURE(std::string(kv::name(keys)));
        CAPTURE(std::string(kv::name(values)));
        CAPTURE(dim);
        for (uint32_t kind = 0; kind < 23; ++kind) {
          const std::vector<float> x = row_of(kind, dim);
          for (const Isa isa : all_isas) {
            if (!cpu_has(isa)) continue;
            CAPTURE(std::string(name(isa)));
            Block got({keys, values}, dim), scalar({keys, values}, dim);
            write(isa, {keys, values}, dim, 5, x, got);
            write(Isa::scalar, {keys, values}, dim, 5, x, scalar);
            CHECK(got == scalar);
            CHECK(written(got.keys) <= kv::stored_bytes(keys, dim, 1));
            CHECK(written(got.values) <= kv::stored_bytes(values, dim, 1));
          }
        }
      }
    }
  }
}

TEST_CASE("keys alone are written where there are no values") {
  for (const Isa isa : testing::available_isas()) {
    const std::vector<float> x = testing::random_floats(40, 3);
    Block got({kv::KvType::q8_0, kv::KvType::q8_0}, 40), want = got;
    write(Isa::scalar, {kv::KvType::q8_0, kv::KvType::q8_0}, 40, 9, x, want);
    WriteKvArgs args;
    args.types = {kv::KvType::q8_0, kv::KvType::q8_0};
    args.keys = got.keys.data();
    args.slot = 9;
    args.head_dim = 40;
    args.key = x.data();
    kernels(isa).write_kv(args);
    CHECK(got.keys == want.keys);
    CHECK(written(got.values) == 0);
  }
}
