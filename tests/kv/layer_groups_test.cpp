#include "kv/layer_groups.hpp"

#include <doctest/doctest.h>

namespace troupe::kv {
namespace {

/// Every `nth` layer has no window.
std::vector<uint32_t> every(uint32_t layers, uint32_t nth, uint32_t window) {
  std::vector<uint32_t> windows(layers, window);
  for (uint32_t i = nth - 1; i < layers; i += nth) windows[i] = 0;
  return windows;
}

TEST_CASE("every layer has a place of its own, those of a group one kind of window") {
  const std::vector<std::vector<uint32_t>> models = {
      every(26, 2, 4096), every(34, 6, 1024),  every(62, 6, 1024),
      every(24, 2, 128),  every(32, 32, 512),  {0, 9},
      {9, 0, 0, 0},       every(32, 33, 4096), {9, 9},
      {9, 9, 40, 9}};
  for (const auto& windows : models) {
    KvLayout layout{.num_kv_heads = 2, .head_dim = 8};
    group_layers(layout, windows);
    REQUIRE(layout.places.size() == windows.size());
    CHECK(layout.num_groups() <= 8);
    CHECK(layout.windows[0] == 0);
    std::vector<bool> taken(layout.num_groups() * layout.num_layers, false);
    for (uint32_t i = 0; i < windows.size(); ++i) {
      const LayerPlace place = layout.place(i);
      REQUIRE(place.slot < layout.num_layers);
      const uint32_t at = place.group * layout.num_layers + place.slot;
      CHECK_FALSE(taken[at]);
      taken[at] = true;
      if (place.group > 0) CHECK(layout.windows[place.group] == windows[i]);
    }
  }
}

TEST_CASE(
    "where all layers have a window, an eighth of them keeps its pages: the widest, the first") {
  KvLayout layout;
  group_layers(layout, std::vector<uint32_t>(32, 4096));
  CHECK(layout.num_groups() == 8);
  CHECK(layout.num_layers == 4);
  for (uint32_t i = 0; i < 32; ++i) CHECK(layout.place(i) == LayerPlace{i / 4, i % 4});
  CHECK(pages_held(layout, 200000, 256) == 3125 + 7 * (4351 / 64 + 2));

  KvLayout mixed;
  group_layers(mixed, std::vector<uint32_t>{9, 9, 40, 9});
  CHECK(mixed.place(2) == LayerPlace{0, 0});
  CHECK(mixed.windows == std::vector<uint32_t>{0, 9, 9, 9});
}

TEST_CASE("without a window, and with one layer, there is one group, as ever") {
  for (const std::vector<uint32_t>& windows : {std::vector<uint32_t>(4, 0u), {}, {512u}}) {
    KvLayout layout{.num_layers = 4, .num_kv_heads = 2, .head_dim = 8};
    const KvLayout before = layout;
    group_layers(layout, windows);
    CHECK(layout == before);
    CHECK(layout.num_groups() == 1);
    CHECK(pages_held(layout, 1000, 256) == 16);
  }
}

TEST_CASE("a window begins at the block of the first position that a query sees") {
  KvLayout layout;
  group_layers(layout, std::vector<uint32_t>{0, 100});
  for (uint32_t position = 0; position < 1000; ++position) {
    const uint32_t sees = position >= 99 ? position - 99 : 0;
    CHECK(layout.first_block(1, position) == sees / 64);
    CHECK(layout.first_block(0, position) == 0);
  }
  CHECK(pages_held(layout, 200000, 256) == 3125 + 7);
}

TEST_CASE("names of pages: the block's own for group 0, one of its own for each other") {
  KvLayout layout;
  group_layers(layout, std::vector<uint32_t>{0, 64, 64});
  const BlockName block = chain(BlockName(), std::vector<int32_t>{1, 2, 3});
  CHECK(page_name(block, 0) == block);
  CHECK(page_name(block, 1) != block);
  CHECK(page_name(block, 1) != page_name(block, 2));
  const std::vector<BlockName> names = {chain(block, {}), block};
  const std::vector<BlockName> expected = {page_name(block, 1), page_name(block, 2)};
  CHECK(window_page_names(layout, names) == expected);
  CHECK(window_page_names(layout, {}).empty());
}

}  // namespace
}  // namespace troupe::kv
