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
  CHECK(layout.v_index(0, 0) == size_t{30} * 3 * 64 * 64);
  CHECK(layout.v_index(29, 2) + layout.head_elements() == layout.block_bytes() / 2);
  KvLayout other = layout;
  other.type = KvType::f32;
  CHECK(other.describe() != layout.describe());
  other = layout;
  other.tokens_per_block = 32;
  CHECK(other.describe() != layout.describe());
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
