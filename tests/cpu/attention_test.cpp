// Paged attention of every instruction set against the plain reading of the numerics page, over a
// pool whose other slots hold NaN.
#include "cpu/attention.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cpu/attention_reference.hpp"
#include "cpu/kernel_table.hpp"
#include "kv/layout.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/isas.hpp"
#include "tests/support/stored_kv.hpp"

using namespace troupe;
using namespace troupe::cpu;

namespace {

struct Cache {
  kv::KvLayout layout;
  std::vector<std::byte> pool;
  std::vector<uint32_t> table;
  std::vector<float> keys, values;  ///< as stored: [position, dim] of the layer and head under test
};

constexpr uint32_t layer = 1, head = 1;

Cache make_cache(kv::KvTypes types, uint32_t head_dim, uint32_t positions) {
  Cache cache;
  cache.layout.num_layers = 2;
  cache.layout.num_kv_heads = 2;
  cache.layout.head_dim = head_dim;
  cache.layout.type = types.keys;
  cache.layout.value_type = types.values;
  const uint32_t pages = (positions + 63) / 64;
  cache.pool.assign(pages * cache.layout.block_bytes(), std::byte{0xff});
  for (uint32_t i = 0; i < pages; ++i) cache.table.push_back(pages - 1 - i);
  cache.keys = testing::random_floats(size_t{positions} * head_dim, 11);
  cache.values = testing::random_floats(size_t{positions} * head_dim, 12);
  for (uint32_t p = 0; p < positions; ++p) {
    std::byte* block = cache.pool.data() + cache.table[p / 64] * cache.layout.block_bytes();
    WriteKvArgs args;
    args.types = types;
    args.keys = block + cache.layout.k_offset(layer, head);
    args.values = block + cache.layout.v_offset(layer, head);
    args.slot = p % 64;
    args.head_dim = head_dim;
    args.key = &cache.keys[size_t{p} * head_dim];
    args.value = &cache.values[size_t{p} * head_dim];
    kernels_scalar().write_kv(args);
  }
  cache.keys = testing::as_stored(types.keys, cache.keys, head_dim);
  cache.values = testing::as_stored(types.values, cache.values, head_dim);
  return cache;
}

void check(kv::KvTypes types, uint32_t head_dim, uint32_t group, uint32_t first, uint32_t tokens,
           float query_size = 2.0f) {
  const Cache cache = make_cache(types, head_dim, first + tokens);
  const size_t stride = size_t{group} * head_dim + 5;
  const auto query = testing::random_floats(tokens * stride, 13, query_size);
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  std::vector<float> want(query.size(), -7.0f);
  for (uint32_t t = 0; t < tokens; ++t) {
    for (uint32_t g = 0; g < group; ++g) {
      const auto at = static_cast<std::ptrdiff_t>(t * stride + g * head_dim);
      const auto row = reference::attention(
          {query.begin() + at, query.begin() + at + head_dim}, first + t, scale,
          [&](uint32_t p, uint32_t d) { return cache.keys[size_t{p} * head_dim + d]; },
          [&](uint32_t p, uint32_t d) { return cache.values[size_t{p} * head_dim + d]; });
      std::copy(row.begin(), row.end(), want.begin() + at);
    }
  }
  for (const Isa isa : all_isas) {
    if (!cpu_has(isa)) continue;
    std::vector<float> got(query.size(), -7.0f);
    std::vector<float> scratch(attention_scratch_floats(head_dim, group), NAN);
    AttentionArgs args;
    args.pool = cache.pool.data();
    args.block_bytes = cache.layout.block_bytes();
    args.block_table = cache.table.data();
    args.k_offset = cache.layout.k_offset(layer, head);
    args.v_offset = cache.layout.v_offset(layer, head);
    args.types = types;
    args.head_dim = head_dim;
    args.group = group;
    args.first_position = first;
    args.num_tokens = tokens;
    args.scale = scale;
    args.query = query.data();
    args.out = got.data();
    args.stride = stride;
    args.scratch = scratch.data();
    CAPTURE(std::string(name(isa)));
    CAPTURE(head_dim);
    CAPTURE(group);
    CAPTURE(first);
    CAPTURE(tokens);
    kernels(isa).attention(args);
    CHECK(testing::first_difference(got, want) == -1);
    // In pieces, the last splits first, as threads may happen to take them.
    got.assign(query.size(), -7.0f);
    const uint32_t splits = (first + tokens - 1) / split_positions + 1;
    std::vector<float> partial(attention_partial_floats(head_dim, group * tokens, splits), NAN);
    args.partial = partial.data();
    for (uint32_t end = splits; end > 0; end = args.first_split) {
      args.end_split = end;
      args.first_split = end > 2 ? end - 2 : 0;
      kernels(isa).attention(args);
    }
    kernels(isa).merge_attention(args);
    CHECK(testing::first_difference(got, want) == -1);
  }
}

}  // namespace

TEST_CASE("attention equals the reference at the edges of tiles and splits") {
  testing::available_isas();
  for (const kv::KvType type : kv::all_kv_types) {
    for (const uint32_t first : {0u, 1u, 14u, 62u, 63u, 64u, 120u, 1022u, 1024u, 2047u}) {
      check({type, type}, 32, 2, first, 1);
      check({type, type}, 32, 1, first, 3);
    }
  }
}

TEST_CASE("attention equals the reference over many splits") {
  check({kv::KvType::f16, kv::KvType::f16}, 20, 2, 5117, 8);
  check({kv::KvType::f16, kv::KvType::f16}, 64, 1, 3071, attention_tokens_max);
}

TEST_CASE("attention equals the reference for all head sizes and groups") {
  for (const uint32_t head_dim : {4u, 16u, 20u, 33u, 64u, 80u, 96u, 128u}) {
    for (const uint32_t group : {1u, 3u, 8u}) {
      for (const kv::KvType type : {kv::KvType::f16, kv::KvType::bf16, kv::KvType::q8_0}) {
        check({type, type}, head_dim, group, 70, 5);
      }
      check({kv::KvType::f32, kv::KvType::f32}, head_dim, group, 0, attention_tokens_max);
    }
  }
}

TEST_CASE("attention equals the reference with K and V stored as different types") {
  for (const kv::KvType keys : kv::all_kv_types) {
    for (const kv::KvType values : kv::all_kv_types) {
      check({keys, values}, 40, 3, 127, 1);
      check({keys, values}, 64, 2, 100, 9);
    }
  }
}

// Scores of a tile lie up to some hundreds apart: weights from 1 to the least denormal and 0.
TEST_CASE("attention equals the reference however far scores lie apart") {
  for (const float query_size : {0.0f, 10.0f, 30.0f, 45.0f, 60.0f, 75.0f, 90.0f, 300.0f, 3e30f}) {
    CAPTURE(query_size);
    for (const kv::KvType type : {kv::KvType::f16, kv::KvType::f32}) {
      check({type, type}, 64, 3, 250, 4, query_size);
      check({type, type}, 32, 1, 63, 2, query_size);
    }
  }
}
