#include "cpu/truncation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/math.hpp"
#include "cpu/descending_order.hpp"

namespace troupe::cpu {
namespace {

using engine::SamplingParams;

/// What is left of the vocabulary: the first `count` of the order (fewer if it is shorter), whose
/// weights sum up to `total`.
struct Kept {
  size_t count = std::numeric_limits<size_t>::max();
  float total = 0;
};

/// Shortens `kept` to the prefix before the first candidate that `stop(candidate, sum before)`.
template <class Stop>
void cut(DescendingOrder& order, Kept& kept, Stop stop) {
  float sum = 0;
  size_t i = 0;
  for (const Candidate* c; i < kept.count && (c = order.at(i)) != nullptr; ++i) {
    if (i > 0 && stop(*c, i, sum)) break;
    sum += c->weight;
  }
  kept = {i, sum};
}

/// The first candidate whose running sum exceeds the target. If rounding leaves none, the most
/// probable one.
int32_t walk(DescendingOrder& order, const Kept& kept, float uniform) {
  const float target = uniform * kept.total;
  float sum = 0;
  for (size_t i = 0; i < kept.count; ++i) {
    const Candidate* c = order.at(i);
    if (c == nullptr) break;
    sum += c->weight;
    if (sum > target) return c->id;
  }
  return order.at(0)->id;
}

/// Locally typical sampling: keeps the candidates whose surprise is nearest to the entropy, until
/// they hold `mass` of the total. Returned in the order's sequence.
std::vector<Candidate> typical(DescendingOrder& order, const Kept& kept, float mass) {
  struct Entry {
    Candidate candidate;
    size_t rank;
    float surprise;
  };
  std::vector<Entry> entries;
  float entropy = 0;
  for (const Candidate* c; entries.size() < kept.count && (c = order.at(entries.size()));) {
    const float p = c->weight / kept.total;
    const float surprise = p > 0.0f ? -log_fixed(p) : std::numeric_limits<float>::max();
    if (p > 0.0f) entropy += p * surprise;
    entries.push_back({*c, entries.size(), surprise});
  }
  const auto distance = [&](const Entry& e) { return std::fabs(e.surprise - entropy); };
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    return distance(a) != distance(b) ? distance(a) < distance(b) : a.rank < b.rank;
  });
  float sum = 0;
  size_t count = 0;
  while (count < entries.size() && (count == 0 || sum < mass * kept.total)) {
    sum += entries[count++].candidate.weight;
  }
  entries.resize(count);
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.rank < b.rank; });
  std::vector<Candidate> result;
  for (const Entry& entry : entries) result.push_back(entry.candidate);
  return result;
}

int32_t walk_typical(const std::vector<Candidate>& candidates, float uniform) {
  float total = 0;
  for (const Candidate& c : candidates) total += c.weight;
  const float target = uniform * total;
  float sum = 0;
  for (const Candidate& c : candidates) {
    sum += c.weight;
    if (sum > target) return c.id;
  }
  return candidates.front().id;
}

}  // namespace

int32_t draw_token(const std::vector<float>& weights, float total, const SamplingParams& params,
                   float uniform) {
  DescendingOrder order(weights.data(), static_cast<uint32_t>(weights.size()));
  Kept kept;
  kept.total = total;
  if (params.top_k > 0 && static_cast<size_t>(params.top_k) < weights.size()) {
    const auto k = static_cast<size_t>(params.top_k);
    cut(order, kept, [k](const Candidate&, size_t rank, float) { return rank >= k; });
  }
  if (params.top_p < 1.0f) {
    const float limit = params.top_p * kept.total;
    cut(order, kept, [limit](const Candidate&, size_t, float sum) { return sum >= limit; });
  }
  if (params.min_p > 0.0f) {
    const float least = params.min_p * order.at(0)->weight;
    cut(order, kept, [least](const Candidate& c, size_t, float) { return c.weight < least; });
  }
  if (params.typical_p < 1.0f) {
    return walk_typical(typical(order, kept, params.typical_p), uniform);
  }
  return walk(order, kept, uniform);
}

}  // namespace troupe::cpu
