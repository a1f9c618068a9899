#include "kv/layer_groups.hpp"

#include <algorithm>

#include "kv/limits.hpp"

namespace troupe::kv {

void group_layers(KvLayout& layout, std::span<const uint32_t> windows) {
  const auto total = static_cast<uint32_t>(windows.size());
  const auto open = static_cast<uint32_t>(std::count(windows.begin(), windows.end(), 0u));
  if (open == 0 || open == total) return;
  const uint32_t windowed = total - open;
  const uint32_t groups_max = limits::layer_groups_max - 1;
  const uint32_t slots = std::max(open, (windowed + groups_max - 1) / groups_max);
  layout.num_layers = slots;
  layout.places.clear();
  layout.windows.assign(1 + (windowed + slots - 1) / slots, 0);
  uint32_t next_open = 0, next_windowed = 0;
  for (const uint32_t window : windows) {
    if (window == 0) {
      layout.places.push_back({0, next_open++});
      continue;
    }
    const LayerPlace place{1 + next_windowed / slots, next_windowed % slots};
    ++next_windowed;
    layout.windows[place.group] = std::max(layout.windows[place.group], window);
    layout.places.push_back(place);
  }
}

uint64_t pages_held(const KvLayout& layout, uint64_t tokens, uint64_t chunk) {
  const uint64_t size = layout.tokens_per_block;
  const uint64_t blocks = (tokens + size - 1) / size;
  uint64_t pages = blocks;
  for (uint32_t group = 1; group < layout.num_groups(); ++group) {
    // A window and a chunk begin and end anywhere in a block; what a draft may take back stays.
    pages += std::min<uint64_t>(blocks, (layout.windows[group] + chunk - 1) / size + 2);
  }
  return pages;
}

std::vector<BlockName> window_page_names(const KvLayout& layout, std::span<const BlockName> names) {
  std::vector<BlockName> pages;
  if (names.empty()) return pages;
  const auto last = static_cast<uint32_t>(names.size()) * layout.tokens_per_block - 1;
  for (uint32_t group = 1; group < layout.num_groups(); ++group) {
    for (size_t block = layout.first_block(group, last); block < names.size(); ++block) {
      pages.push_back(page_name(names[block], group));
    }
  }
  return pages;
}

}  // namespace troupe::kv
