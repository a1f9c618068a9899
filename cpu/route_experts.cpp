#include "cpu/route_experts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/math.hpp"

namespace troupe::cpu {
namespace {

using model::ExpertsConfig;
using model::Routing;

/// The sum as docs/numerics.md section 3 says: 16 lanes, then halves.
float sum_of_scores(const float* values, uint32_t count) {
  float lane[16] = {};
  for (uint32_t i = 0; i < count; ++i) lane[i % 16] += values[i];
  for (int step = 8; step >= 1; step /= 2) {
    for (int l = 0; l < step; ++l) lane[l] += lane[l + step];
  }
  return lane[0];
}

void softmax(float* values, uint32_t count) {
  float highest = values[0];
  for (uint32_t i = 1; i < count; ++i) highest = values[i] > highest ? values[i] : highest;
  for (uint32_t i = 0; i < count; ++i) values[i] = exp_fixed(values[i] - highest);
  const float sum = sum_of_scores(values, count);
  for (uint32_t i = 0; i < count; ++i) values[i] /= sum;
}

/// Indices of the `count` highest, ties to the lower index; NaN counts as the lowest number, so
/// that the order is total.
std::vector<uint32_t> best(const std::vector<float>& values, uint32_t count) {
  std::vector<uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto key = [&](uint32_t i) { return std::isnan(values[i]) ? -INFINITY : values[i]; };
  std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](uint32_t a, uint32_t b) {
    return key(a) > key(b) || (!(key(a) < key(b)) && a < b);
  });
  order.resize(count);
  return order;
}

/// Scores of experts outside of the best groups become 0, as the models' own code has it.
void keep_best_groups(const ExpertsConfig& config, std::vector<float>& choice) {
  if (config.groups <= 1 || config.groups_kept >= config.groups) return;
  const uint32_t members = config.count / config.groups;
  std::vector<float> group_scores;
  for (uint32_t g = 0; g < config.groups; ++g) {
    const std::vector<float> group(choice.begin() + g * members,
                                   choice.begin() + (g + 1) * members);
    float sum = 0;
    for (const uint32_t i : best(group, config.group_top)) sum += group[i];
    group_scores.push_back(sum);
  }
  std::vector<bool> kept(config.groups);
  for (const uint32_t g : best(group_scores, config.groups_kept)) kept[g] = true;
  for (uint32_t i = 0; i < config.count; ++i) {
    if (!kept[i / members]) choice[i] = 0.0f;
  }
}

}  // namespace

void route_experts(const ExpertsConfig& config, const float* logits,
                   const std::vector<float>& choice_bias, ChosenExpert* out) {
  std::vector<float> scores(logits, logits + config.count);
  if (config.routing == Routing::softmax) softmax(scores.data(), config.count);
  if (config.routing == Routing::sigmoid) {
    for (float& score : scores) score = 1.0f / (1.0f + exp_fixed(-score));
  }
  std::vector<float> choice = scores;
  for (size_t i = 0; i < choice_bias.size(); ++i) choice[i] += choice_bias[i];
  keep_best_groups(config, choice);
  std::vector<uint32_t> chosen = best(choice, config.per_token);
  std::sort(chosen.begin(), chosen.end());

  std::vector<float> weights;
  for (const uint32_t expert : chosen) weights.push_back(scores[expert]);
  if (config.routing == Routing::chosen_softmax) softmax(weights.data(), config.per_token);
  if (config.normalized) {
    float sum = 0;
    for (const float weight : weights) sum += weight;
    for (float& weight : weights) weight /= sum + 1e-20f;
  }
  for (uint32_t i = 0; i < config.per_token; ++i) out[i] = {chosen[i], weights[i] * config.scale};
}

}  // namespace troupe::cpu
