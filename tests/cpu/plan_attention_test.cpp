// Every query meets every position before it once, however the work is cut.
#include "cpu/plan_attention.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "cpu/attention.hpp"

using namespace troupe::cpu;

namespace {

BatchSpan span_of(uint32_t first_token, uint32_t first_position, uint32_t num_tokens) {
  BatchSpan span;
  span.first_token = first_token;
  span.first_position = first_position;
  span.num_tokens = num_tokens;
  return span;
}

uint32_t splits_of(const AttentionItem& item) {
  return (item.span.first_position + item.span.num_tokens - 1) / split_positions + 1;
}

/// How often each (token, KV head, query, split) is visited.
std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, int> visits(
    const std::vector<AttentionItem>& items) {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, int> counts;
  for (const AttentionItem& item : items) {
    const uint32_t end = std::min(item.end_split, splits_of(item));
    for (uint32_t t = 0; t < item.span.num_tokens; ++t) {
      for (uint32_t q = 0; q < item.num_queries; ++q) {
        for (uint32_t s = item.first_split; s < end; ++s) {
          ++counts[{item.span.first_token + t, item.kv_head, item.first_query + q, s}];
        }
      }
    }
  }
  return counts;
}

}  // namespace

TEST_CASE("plan_attention: pieces cover what the items cover, each once") {
  std::mt19937 random(3);
  AttentionPlan plan;
  for (int round = 0; round < 200; ++round) {
    std::vector<BatchSpan> spans;
    uint32_t token = 0;
    for (uint32_t i = 0; i < 1 + random() % 4; ++i) {
      const auto tokens = static_cast<uint32_t>(1 + random() % 40);
      spans.push_back(span_of(token, static_cast<uint32_t>(random() % 9000), tokens));
      token += tokens;
    }
    const AttentionShape shape{.kv_heads = 1 + static_cast<uint32_t>(random() % 4),
                               .group = 1 + static_cast<uint32_t>(random() % 20),
                               .state_floats = 8,
                               .threads = 1 + static_cast<uint32_t>(random() % 9)};
    plan_attention(spans, shape, plan);
    const auto whole = visits(plan.items);
    CHECK(std::ranges::all_of(whole, [](const auto& entry) { return entry.second == 1; }));
    CHECK(visits(plan.pieces) == whole);
    std::vector<uint32_t> pieces(plan.merges.size());
    for (const AttentionItem& item : plan.pieces) {
      if (item.merge >= 0) ++pieces.at(static_cast<size_t>(item.merge));
    }
    for (size_t i = 0; i < pieces.size(); ++i) CHECK(pieces[i] == plan.merges[i].pieces);
  }
}

TEST_CASE("plan_attention: one long sequence is shared out evenly, and one thread gets it whole") {
  AttentionShape shape{.kv_heads = 3, .group = 3, .state_floats = 66, .threads = 2};
  AttentionPlan plan;
  plan_attention({span_of(0, 4095, 1)}, shape, plan);
  CHECK(plan.items.size() == 3);
  CHECK(plan.pieces.size() == 12);
  CHECK(plan.merges.size() == 3);
  CHECK(plan.partial_floats == 3 * 4 * 3 * 66);
  shape.threads = 1;
  plan_attention({span_of(0, 4095, 1)}, shape, plan);
  CHECK(plan.pieces.size() == 3);
  CHECK(plan.merges.empty());
  // Enough work of other sequences: nothing is cut.
  shape.threads = 2;
  std::vector<BatchSpan> many;
  for (uint32_t i = 0; i < 32; ++i) many.push_back(span_of(i, 4095, 1));
  plan_attention(many, shape, plan);
  CHECK(plan.merges.empty());
  CHECK(plan.pieces.size() == 96);
}
