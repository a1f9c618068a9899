#include "engine/sim_draw.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/philox.hpp"
#include "engine/sim_slots.hpp"

namespace troupe::engine {

namespace {

void penalise(std::vector<float>& logits, const SamplingParams& params,
              std::span<const int32_t> prompt, std::span<const int32_t> output) {
  for (const auto& [token, bias] : params.logit_bias) logits[static_cast<size_t>(token)] += bias;
  if (params.repetition_penalty != 1.0f) {
    std::set<int32_t> seen(prompt.begin(), prompt.end());
    seen.insert(output.begin(), output.end());
    for (const int32_t token : seen) {
      float& logit = logits[static_cast<size_t>(token)];
      logit = logit > 0 ? logit / params.repetition_penalty : logit * params.repetition_penalty;
    }
  }
  if (params.presence_penalty != 0.0f || params.frequency_penalty != 0.0f) {
    std::map<int32_t, int> counts;
    for (const int32_t token : output) ++counts[token];
    for (const auto& [token, count] : counts) {
      logits[static_cast<size_t>(token)] -=
          params.presence_penalty + params.frequency_penalty * static_cast<float>(count);
    }
  }
  if (output.size() < params.min_tokens) {
    for (const int32_t token : params.stop_ids) {
      logits[static_cast<size_t>(token)] = -std::numeric_limits<float>::infinity();
    }
  }
}

size_t choose(const std::vector<float>& logits, const SamplingParams& params, uint32_t position) {
  const auto best = std::max_element(logits.begin(), logits.end());
  if (params.temperature == 0.0f) return static_cast<size_t>(best - logits.begin());
  std::vector<double> weights(logits.size());
  double total = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    weights[i] = std::exp(double{logits[i] - *best} / double{params.temperature});
    total += weights[i];
  }
  double left =
      total * double{philox_uniform(params.seed, position, params.choice, DrawPurpose::target)};
  for (size_t i = 0; i < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return i;
  }
  return static_cast<size_t>(best - logits.begin());
}

}  // namespace

std::vector<float> sim_logits(uint64_t state, uint32_t vocab_size, float scale) {
  std::vector<float> logits(vocab_size);
  for (uint32_t i = 0; i < vocab_size; ++i) {
    const auto bits = static_cast<uint32_t>(sim_mix(state, i) >> 40);
    logits[i] = (static_cast<float>(bits) * 0x1p-24f - 0.5f) * scale;
  }
  return logits;
}

float sim_log_sum_exp(const std::vector<float>& logits) {
  const float best = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit - best});
  return best + static_cast<float>(std::log(sum));
}

Draw sim_draw(std::vector<float> logits, const SamplingParams& params, uint32_t position,
              std::span<const int32_t> prompt, std::span<const int32_t> output) {
  penalise(logits, params, prompt, output);
  const float log_sum = sim_log_sum_exp(logits);
  const size_t token = choose(logits, params, position);
  Draw draw{static_cast<int32_t>(token), logits[token] - log_sum, {}};
  const size_t count = std::min<size_t>(params.top_logprobs, logits.size());
  if (count == 0) return draw;
  std::vector<int32_t> order(logits.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(),
                    [&](int32_t a, int32_t b) {
                      const float x = logits[static_cast<size_t>(a)];
                      const float y = logits[static_cast<size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  for (size_t i = 0; i < count; ++i) {
    draw.top_logprobs.emplace_back(order[i], logits[static_cast<size_t>(order[i])] - log_sum);
  }
  return draw;
}

}  // namespace troupe::engine
