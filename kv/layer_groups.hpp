// Layers with a window in groups of their own, each with its pages, so that a page goes when its
// block has slid out of the window. All groups have as many layers as those without a window are:
// one pool of one page size serves them all, and what is not used is at most part of one group.
// The pages of group 0 stay as long as the sequence: its blocks are known by them. Where every
// layer has a window, a few of them lie there too and keep more than they need.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/block_name.hpp"
#include "kv/layout.hpp"

namespace troupe::kv {

/// Divides the layers of a model by `windows` [layers] (0: no window). A model without a window
/// keeps one group and its layout.
void group_layers(KvLayout& layout, std::span<const uint32_t> windows);

/// Pages that a sequence of `tokens` holds whose last span had `chunk` tokens.
uint64_t pages_held(const KvLayout& layout, uint64_t tokens, uint64_t chunk);

/// Names of the pages with a window that a sequence needs, besides those of group 0, which goes on
/// behind all blocks of `names`.
std::vector<BlockName> window_page_names(const KvLayout& layout, std::span<const BlockName> names);

}  // namespace troupe::kv
