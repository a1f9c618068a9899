// How the attention of a batch is shared out to threads: tokens x heads first, and where that
// leaves too few pieces for an even share, splits of 1,024 positions (docs/numerics.md section 4),
// whose states are merged in order by whoever finishes the last one. No sharing changes a result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/batch.hpp"

namespace troupe::cpu {

/// Query heads that pass over a tile of K and V together: bounds the memory of their sums.
inline constexpr uint32_t queries_at_once_max = 16;
inline constexpr uint32_t all_splits = UINT32_MAX;

/// Tokens of one span times some query heads of one KV head.
struct AttentionItem {
  BatchSpan span;  ///< at most attention_tokens_max tokens
  uint32_t kv_head = 0;
  uint32_t first_query = 0;  ///< of the KV head's group
  uint32_t num_queries = 0;
  uint32_t first_split = 0, end_split = all_splits;
  int merge = -1;  ///< index in AttentionPlan::merges of what this is a piece of
};

/// An item that was cut into pieces.
struct AttentionMerge {
  size_t partial = 0;  ///< where its states begin, in floats
  uint32_t pieces = 0;
  uint32_t finished = 0;  ///< pieces, of the layer at hand; shared by the threads
};

struct AttentionPlan {
  std::vector<AttentionItem> items;   ///< whole ones
  std::vector<AttentionItem> pieces;  ///< the same work in pieces of splits, the longest first
  std::vector<AttentionMerge> merges;
  size_t partial_floats = 0;
};

struct AttentionShape {
  uint32_t kv_heads = 0;
  uint32_t group = 0;       ///< query heads of a KV head
  size_t state_floats = 0;  ///< what a piece leaves of a query and split
  uint32_t threads = 1;
};

/// Plans the spans of one batch into `plan`, whose memory is used again.
void plan_attention(const std::vector<BatchSpan>& spans, const AttentionShape& shape,
                    AttentionPlan& plan);

}  // namespace troupe::cpu
