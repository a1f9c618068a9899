#include "cpu/plan_attention.hpp"

#include <algorithm>

#include "cpu/attention.hpp"

namespace troupe::cpu {
namespace {

/// Pieces that each thread gets where the work can be cut so far: what the last of them leaves
/// uneven is then about this part of it.
constexpr uint64_t pieces_per_thread = 8;

uint32_t end_of(const AttentionItem& item) {
  return item.span.first_position + item.span.num_tokens;
}

uint32_t splits_of(const AttentionItem& item) {
  return (end_of(item) - 1) / split_positions + 1;
}

/// Pairs of query and position, about.
uint64_t work_of(const AttentionItem& item) {
  const uint32_t end = end_of(item);
  const uint32_t begin = std::min(end, item.first_split * split_positions);
  const uint32_t stop = item.end_split < splits_of(item) ? item.end_split * split_positions : end;
  return uint64_t{item.num_queries} * item.span.num_tokens * (stop - begin);
}

/// So that no thread starts a long one when the others are done.
void longest_first(std::vector<AttentionItem>& items) {
  std::stable_sort(items.begin(), items.end(), [](const AttentionItem& a, const AttentionItem& b) {
    return work_of(a) > work_of(b);
  });
}

void add_items(const BatchSpan& span, const AttentionShape& shape, AttentionPlan& plan) {
  for (uint32_t t = 0; t < span.num_tokens; t += attention_tokens_max) {
    AttentionItem item;
    item.span = span;
    item.span.first_token += t;
    item.span.first_position += t;
    item.span.num_tokens = std::min(attention_tokens_max, span.num_tokens - t);
    for (item.kv_head = 0; item.kv_head < shape.kv_heads; ++item.kv_head) {
      for (uint32_t q = 0; q < shape.group; q += queries_at_once_max) {
        item.first_query = q;
        item.num_queries = std::min(queries_at_once_max, shape.group - q);
        plan.items.push_back(item);
      }
    }
  }
}

/// Adds the item to the pieces, cut into `wanted` of them if it has as many splits.
void cut(AttentionItem item, uint64_t wanted, size_t state_floats, AttentionPlan& plan) {
  const uint32_t splits = splits_of(item);
  const auto count = static_cast<uint32_t>(std::min<uint64_t>(wanted, splits));
  if (count <= 1) {
    plan.pieces.push_back(item);
    return;
  }
  AttentionMerge merge{.partial = plan.partial_floats, .pieces = count};
  plan.partial_floats += state_floats * item.num_queries * item.span.num_tokens * splits;
  item.merge = static_cast<int>(plan.merges.size());
  plan.merges.push_back(merge);
  for (uint32_t i = 0; i < count; ++i) {
    item.first_split = i * splits / count;
    item.end_split = (i + 1) * splits / count;
    plan.pieces.push_back(item);
  }
}

}  // namespace

void plan_attention(const std::vector<BatchSpan>& spans, const AttentionShape& shape,
                    AttentionPlan& plan) {
  plan.items.clear();
  plan.pieces.clear();
  plan.merges.clear();
  plan.partial_floats = 0;
  for (const BatchSpan& span : spans) add_items(span, shape, plan);
  uint64_t work = 0;
  for (const AttentionItem& item : plan.items) work += work_of(item);
  const uint64_t share = std::max<uint64_t>(1, work / (shape.threads * pieces_per_thread));
  for (const AttentionItem& item : plan.items) {
    const uint64_t wanted = shape.threads > 1 ? (work_of(item) + share - 1) / share : 1;
    cut(item, wanted, shape.state_floats, plan);
  }
  longest_first(plan.pieces);
}

}  // namespace troupe::cpu
