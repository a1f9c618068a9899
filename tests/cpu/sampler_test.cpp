// The sampling chain against a plain version that sorts the whole vocabulary.
#include "cpu/sampler.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/math.hpp"
#include "base/philox.hpp"
#include "cpu/log_softmax.hpp"
#include "cpu/truncation.hpp"
#include "tests/support/bits.hpp"

using namespace troupe;
using namespace troupe::cpu;
using engine::SamplingParams;

namespace {

/// Full sort, then each truncation as a filter of the sorted list.
int32_t plain_draw(std::vector<float> logits, const SamplingParams& p, uint32_t position) {
  const auto n = static_cast<uint32_t>(logits.size());
  const float highest = *std::max_element(logits.begin(), logits.end());
  std::vector<float> weights(n);
  float total = reference::exp_sum(logits.data(), n, p.temperature, highest, weights.data());
  std::vector<int32_t> order;
  for (uint32_t i = 0; i < n; ++i) {
    if (weights[i] > 0) order.push_back(static_cast<int32_t>(i));
  }
  const auto weight = [&](int32_t id) { return weights[static_cast<size_t>(id)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return weight(a) > weight(b); });
  const auto keep = [&](size_t count) {
    order.resize(std::min(count, order.size()));
    total = 0;
    for (const int32_t id : order) total += weight(id);
  };
  if (p.top_k > 0 && static_cast<size_t>(p.top_k) < n) keep(static_cast<size_t>(p.top_k));
  if (p.top_p < 1) {
    float sum = 0;
    size_t count = 0;
    while (count < order.size() && (count == 0 || sum < p.top_p * total)) {
      sum += weight(order[count++]);
    }
    keep(count);
  }
  if (p.min_p > 0) {
    size_t count = 0;
    while (count < order.size() && weight(order[count]) >= p.min_p) ++count;
    keep(std::max<size_t>(count, 1));
  }
  const float target = philox_uniform(p.seed, position, p.choice, DrawPurpose::target) * total;
  float sum = 0;
  for (const int32_t id : order) {
    sum += weight(id);
    if (sum > target) return id;
  }
  return order[0];
}

engine::Draw draw(std::vector<float> logits, const SamplingParams& params, uint32_t position,
                  const engine::TokenHistory* history = nullptr) {
  Sampler sampler(kernels(best_isa()), static_cast<uint32_t>(logits.size()));
  DrawContext context;
  context.params = &params;
  context.position = position;
  context.history = history;
  auto result = sampler.draw(logits.data(), context);
  REQUIRE(result.ok());
  return *result;
}

}  // namespace

TEST_CASE("draws equal those of a fully sorted vocabulary") {
  for (const float spread : {0.0f, 0.5f, 3.0f, 12.0f}) {
    auto logits = testing::random_floats(1500, 1, spread);
    for (size_t i = 0; i < logits.size(); i += 5) logits[i] = logits[(i * 7) % 1500];  // ties
    for (const float temperature : {0.3f, 1.0f, 1.7f}) {
      for (const int32_t top_k : {0, 1, 40, 5000}) {
        for (const float top_p : {1.0f, 0.9f, 0.1f, 0.0f}) {
          for (const float min_p : {0.0f, 0.05f, 1.0f}) {
            SamplingParams p;
            p.temperature = temperature;
            p.top_k = top_k;
            p.top_p = top_p;
            p.min_p = min_p;
            for (uint32_t position = 0; position < 6; ++position) {
              p.seed = position * 77;
              CHECK(draw(logits, p, position).token == plain_draw(logits, p, position));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("draws follow the distribution, and choices differ") {
  std::vector<float> logits = {0.0f, std::log(2.0f), std::log(5.0f), -INFINITY};
  SamplingParams p;
  std::map<int32_t, int> counts, other;
  for (uint32_t position = 0; position < 4000; ++position) {
    p.choice = 0;
    ++counts[draw(logits, p, position).token];
    p.choice = 1;
    ++other[draw(logits, p, position).token];
  }
  CHECK(counts[0] == doctest::Approx(500).epsilon(0.15));
  CHECK(counts[1] == doctest::Approx(1000).epsilon(0.1));
  CHECK(counts[2] == doctest::Approx(2500).epsilon(0.05));
  CHECK(counts[3] == 0);
  CHECK(counts != other);
}

TEST_CASE("greedy takes the highest logit, the lower id on ties") {
  SamplingParams greedy;
  greedy.temperature = 0;
  CHECK(draw({1, 5, 3, 5, 5}, greedy, 0).token == 1);
  greedy.temperature = 1e-44f;
  CHECK(draw({1, 5, 3, 5, 5}, greedy, 0).token == 1);
  greedy.temperature = 0;
  greedy.logit_bias = {{4, 0.5f}, {1, -100.0f}};
  CHECK(draw({1, 5, 3, 5, 5}, greedy, 0).token == 4);
}

TEST_CASE("typical sampling keeps what is nearest to the entropy") {
  // p = 0.4, 0.3, 0.1 x 3: the entropy is 1.42 nats, nearest is 0.3 (1.20), then 0.4 (0.92).
  const std::vector<float> weights = {1.0f, 0.75f, 0.25f, 0.25f, 0.25f};
  SamplingParams p;
  p.typical_p = 0.2f;
  for (const float uniform : {0.0f, 0.5f, 0.99f}) {
    CHECK(draw_token(weights, 2.5f, p, uniform) == 1);
  }
  p.typical_p = 0.6f;
  CHECK(draw_token(weights, 2.5f, p, 0.0f) == 0);
  CHECK(draw_token(weights, 2.5f, p, 0.56f) == 0);
  CHECK(draw_token(weights, 2.5f, p, 0.58f) == 1);
  CHECK(draw_token(weights, 2.5f, p, 0.999f) == 1);
}

TEST_CASE("log-probabilities are of the distribution after the mask and before temperature") {
  SamplingParams p;
  p.temperature = 0.5f;
  p.top_k = 1;
  p.top_logprobs = 2;
  p.min_tokens = 1;
  p.stop_ids = {2, 99, -5};
  engine::TokenHistory history;
  const engine::Draw d = draw({0.0f, 1.0f, 7.0f, 0.5f}, p, 0, &history);
  const double sum = 1 + std::exp(1.0) + std::exp(0.5);
  CHECK(d.token == 1);
  CHECK(d.logprob == doctest::Approx(1.0 - std::log(sum)));
  REQUIRE(d.top_logprobs.size() == 2);
  CHECK(d.top_logprobs[0].first == 1);
  CHECK(d.top_logprobs[0].second == d.logprob);
  CHECK(d.top_logprobs[1].first == 3);
  history.tokens = {0};
  CHECK(draw({0.0f, 1.0f, 7.0f, 0.5f}, p, 1, &history).token == 2);
}

TEST_CASE("penalties count the prompt or the output, each as its name says") {
  SamplingParams p;
  p.temperature = 0;
  p.top_logprobs = 4;
  engine::TokenHistory history;
  history.tokens = {0, 1, 1, 3, 3};
  history.num_prompt_tokens = 2;
  const auto distance = [&](const SamplingParams& params, int32_t id) {
    // Token 2 is in no history: log-probabilities relative to it show the changed logits.
    const engine::Draw d = draw({2.0f, 2.0f, 2.0f, -1.0f}, params, 5, &history);
    float base = 0, mine = 0;
    for (const auto& [token, logprob] : d.top_logprobs) {
      if (token == 2) base = logprob;
      if (token == id) mine = logprob;
    }
    return mine - base;
  };
  p.repetition_penalty = 2.0f;
  CHECK(distance(p, 0) == doctest::Approx(-1.0));
  CHECK(distance(p, 1) == doctest::Approx(-1.0));
  CHECK(distance(p, 3) == doctest::Approx(-4.0));
  p.repetition_penalty = 1.0f;
  p.presence_penalty = 0.5f;
  CHECK(distance(p, 0) == doctest::Approx(0.0));
  CHECK(distance(p, 1) == doctest::Approx(-0.5));
  CHECK(distance(p, 3) == doctest::Approx(-3.5));
  p.presence_penalty = 0.0f;
  p.frequency_penalty = 0.25f;
  CHECK(distance(p, 1) == doctest::Approx(-0.25));
  CHECK(distance(p, 3) == doctest::Approx(-3.5));
}

TEST_CASE("a row without a token to draw is an error that says why") {
  Sampler sampler(kernels_scalar(), 3);
  SamplingParams p;
  DrawContext context;
  context.params = &p;
  std::vector<float> logits = {1.0f, NAN, 2.0f};
  auto result = sampler.draw(logits.data(), context);
  REQUIRE(!result.ok());
  CHECK(result.error().code == Code::internal);
  logits.assign(3, 1.0f);
  p.logit_bias = {{0, -INFINITY}, {1, -INFINITY}, {2, -INFINITY}};
  result = sampler.draw(logits.data(), context);
  REQUIRE(!result.ok());
  CHECK(result.error().code == Code::invalid_argument);
}
