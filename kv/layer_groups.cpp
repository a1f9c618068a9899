#include "kv/layer_groups.hpp"

#include <algorithm>
#include <numeric>

#include "kv/limits.hpp"

namespace troupe::kv {

namespace {

/// Whether a layer's pages stay as long as the sequence, [layers]: those of the layers without a
/// window, or, where all have one, of the few that see furthest.
std::vector<bool> kept_layers(std::span<const uint32_t> windows) {
  std::vector<bool> kept(windows.size());
  for (size_t i = 0; i < windows.size(); ++i) kept[i] = windows[i] == 0;
  if (std::find(kept.begin(), kept.end(), true) != kept.end()) return kept;
  std::vector<size_t> widest(windows.size());
  std::iota(widest.begin(), widest.end(), size_t{0});
  std::stable_sort(widest.begin(), widest.end(),
                   [&](size_t a, size_t b) { return windows[a] > windows[b]; });
  widest.resize((windows.size() + limits::layer_groups_max - 1) / limits::layer_groups_max);
  for (const size_t layer : widest) kept[layer] = true;
  return kept;
}

}  // namespace

void group_layers(KvLayout& layout, std::span<const uint32_t> windows) {
  const std::vector<bool> kept = kept_layers(windows);
  const auto num_kept = static_cast<uint32_t>(std::count(kept.begin(), kept.end(), true));
  const uint32_t windowed = static_cast<uint32_t>(windows.size()) - num_kept;
  if (windowed == 0) return;
  const uint32_t groups_max = limits::layer_groups_max - 1;
  const uint32_t slots = std::max(num_kept, (windowed + groups_max - 1) / groups_max);
  layout.num_layers = slots;
  layout.places.clear();
  layout.windows.assign(1 + (windowed + slots - 1) / slots, 0);
  uint32_t next_kept = 0, next_windowed = 0;
  for (size_t layer = 0; layer < windows.size(); ++layer) {
    if (kept[layer]) {
      layout.places.push_back({0, next_kept++});
      continue;
    }
    const LayerPlace place{1 + next_windowed / slots, next_windowed % slots};
    ++next_windowed;
    layout.windows[place.group] = std::max(layout.windows[place.group], windows[layer]);
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
