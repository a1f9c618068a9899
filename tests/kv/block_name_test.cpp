#include "kv/block_name.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "kv/layout.hpp"
#include "kv/region.hpp"

using namespace troupe;
using namespace troupe::kv;

namespace {

std::vector<int32_t> tokens_from(int32_t first, size_t count) {
  std::vector<int32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

}  // namespace

TEST_CASE("block names cover full blocks only and chain") {
  const BlockName root = root_name({}, "tenant");
  const auto tokens = tokens_from(0, 200);
  const auto names = block_names(root, tokens, 64);
  REQUIRE(names.size() == 3);
  CHECK(names[0] == chain(root, std::span(tokens).first(64)));
  CHECK(names[2] == chain(names[1], std::span(tokens).subspan(128, 64)));
  CHECK(block_names(root, std::span(tokens).first(63), 64).empty());
  CHECK(block_names(root, tokens, 0).empty());
}

TEST_CASE("a block name depends on every token before it, on the salt and on the fingerprint") {
  const auto tokens = tokens_from(0, 128);
  const auto names = block_names(root_name({}, "a"), tokens, 64);
  auto changed = tokens;
  changed[3] = 99999;
  const auto other = block_names(root_name({}, "a"), changed, 64);
  CHECK(names[0] != other[0]);
  CHECK(names[1] != other[1]);
  CHECK(block_names(root_name({}, "b"), tokens, 64)[1] != names[1]);
  Digest print{};
  print[0] = 1;
  CHECK(block_names(root_name(print, "a"), tokens, 64)[1] != names[1]);
}

TEST_CASE("the name of a block is fixed for ever: routers and stores of another build agree") {
  const BlockName root{};
  const std::vector<int32_t> tokens = {1, 2, -1};
  Sha256 hash;
  hash.update(std::string_view("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16));
  hash.update(std::string_view("\1\0\0\0\2\0\0\0\xff\xff\xff\xff", 12));
  const Digest digest = hash.finish();
  CHECK(hex(chain(root, tokens)) == troupe::hex(std::span(digest).first(16)));
}

TEST_CASE("the fingerprint depends on each part and on where one part ends") {
  const auto print = [](std::string config, std::string id, std::string layout, std::string lora) {
    return fingerprint({{}, std::move(config), std::move(id), std::move(layout), std::move(lora)});
  };
  const Digest before = print("ab", "c", "", "");
  CHECK(print("a", "bc", "", "") != before);
  CHECK(print("ab", "c", "x", "") != before);
  CHECK(print("ab", "c", "", "x") != before);
  CHECK(print("ab", "c", "", "") == before);
  FingerprintParts other{{}, "ab", "c", "", ""};
  CHECK(fingerprint(other) == before);
  other.weights_digest[31] = 1;
  CHECK(fingerprint(other) != before);
}

TEST_CASE("a layout says every fact that decides about the bytes") {
  const KvLayout layout{30, 3, 64, 64, KvType::f16};
  CHECK(layout.block_bytes() == size_t{2} * 30 * 3 * 64 * 64 * 2);
  CHECK(layout.v_offset(0, 0) == layout.block_bytes() / 2);
  CHECK(layout.v_offset(29, 2) + size_t{64} * 64 * 2 == layout.block_bytes());
  CHECK(layout.describe() ==
        "k[layer][head][dim][token] v[layer][head][token][dim] layers 30 kv_heads 3 head_dim 64 "
        "tokens_per_block 64 type f16");
  KvLayout other = layout;
  other.type = KvType::f32;
  CHECK(other.describe() != layout.describe());
  other = layout;
  other.tokens_per_block = 32;
  CHECK(other.describe() != layout.describe());
  other = layout;
  other.value_type = KvType::q8_0;
  CHECK(other.describe() == layout.describe() + " v type q8_0");
  other.value_type = KvType::f16;
  CHECK(other.describe() == layout.describe());
}

TEST_CASE("parts of a block follow each other without a gap, whatever they are stored as") {
  for (const KvType keys : all_kv_types) {
    for (const KvType values : all_kv_types) {
      for (const uint32_t dim : {1u, 32u, 33u, 80u}) {
        KvLayout layout{2, 3, dim, 64, keys};
        layout.value_type = values;
        layout.index_layers = 1;
        layout.index_dim = 16;
        const size_t key = stored_bytes(keys, dim, 64), value = stored_bytes(values, dim, 64);
        CHECK(layout.k_offset(0, 0) == 0);
        CHECK(layout.k_offset(1, 2) == 5 * key);
        CHECK(layout.v_offset(0, 0) == 6 * key);
        CHECK(layout.v_offset(1, 2) == 6 * key + 5 * value);
        CHECK(layout.index_offset(0) == 6 * (key + value));
        CHECK(layout.block_bytes() == 6 * (key + value) + stored_bytes(keys, 16, 64));
        layout.value_in_key = true;
        CHECK(layout.index_offset(0) == 6 * key);
      }
    }
  }
  CHECK(stored_bytes(KvType::q8_0, 64, 64) == size_t{64} * 64 + 2 * 2 * 64);
  CHECK(stored_bytes(KvType::q8_0, 33, 64) == size_t{33} * 64 + 2 * 2 * 64);
  CHECK(stored_bytes(KvType::bf16, 33, 64) == size_t{2} * 33 * 64);
}

TEST_CASE("a region is zeroed, page-aligned and refuses what the machine can't give") {
  const auto region = allocate_region(10000);
  REQUIRE(region.ok());
  CHECK(reinterpret_cast<uintptr_t>(region->data) % 4096 == 0);
  CHECK(std::all_of(region->data, region->data + 10000,
                    [](std::byte b) { return b == std::byte{}; }));
  CHECK(allocate_region(0).error().code == Code::invalid_argument);
  const auto absurd = allocate_region(size_t{1} << 60);
  REQUIRE_FALSE(absurd.ok());
  CHECK(absurd.error().code == Code::exhausted);
  CHECK(absurd.error().message().find("1152921504606846976 bytes") != std::string::npos);
}
