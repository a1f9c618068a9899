#include "cpu/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/concat.hpp"
#include "base/math.hpp"
#include "base/philox.hpp"
#include "cpu/truncation.hpp"

namespace troupe::cpu {
namespace {

using engine::Draw;
using engine::SamplingParams;

constexpr float masked = -std::numeric_limits<float>::infinity();

int32_t first_of(const float* logits, uint32_t n, float value) {
  return static_cast<int32_t>(std::find(logits, logits + n, value) - logits);
}

bool has_penalties(const SamplingParams& p) {
  return p.repetition_penalty != 1.0f || p.presence_penalty != 0.0f || p.frequency_penalty != 0.0f;
}

uint32_t num_output_tokens(const DrawContext& context) {
  const uint32_t known = context.history == nullptr ? 0 : context.history->num_output_tokens();
  return known + static_cast<uint32_t>(context.drafts.size());
}

Error not_finite(const DrawContext& context, const float* logits, uint32_t n) {
  if (std::all_of(logits, logits + n, [](float logit) { return logit == masked; })) {
    return error(Code::invalid_argument,
                 concat("logit bias and mask leave no token at position ", context.position),
                 "allow at least one token");
  }
  return error(Code::internal,
               concat("the logits for position ", context.position, " hold NaN or infinity"),
               "the weights or the KV cache are damaged");
}

}  // namespace

Sampler::Sampler(const KernelTable& kernels, uint32_t vocab_size)
    : kernels_(kernels), vocab_size_(vocab_size), weights_(vocab_size) {}

Result<Draw> Sampler::draw(float* logits, const DrawContext& context) {
  const SamplingParams& params = *context.params;
  bias_and_penalize(logits, context);
  if (num_output_tokens(context) < params.min_tokens) {
    for (const int32_t id : params.stop_ids) {
      if (id >= 0 && static_cast<uint32_t>(id) < vocab_size_) logits[id] = masked;
    }
  }
  const float highest = kernels_.maximum(logits, vocab_size_);
  const float sum = kernels_.exp_sum(logits, vocab_size_, 1.0f, highest, weights_.data());
  if (std::isnan(sum)) return not_finite(context, logits, vocab_size_);
  const float log_sum = log_fixed(sum);

  Draw draw;
  const float scaled = highest / params.temperature;
  // A temperature so small that the quotient overflows leaves the highest logit alone.
  if (params.temperature == 0.0f || std::isinf(scaled)) {
    draw.token = first_of(logits, vocab_size_, highest);
  } else {
    float total = sum;
    if (params.temperature != 1.0f) {
      total = kernels_.exp_sum(logits, vocab_size_, params.temperature, highest, weights_.data());
    }
    const float uniform =
        philox_uniform(params.seed, context.position, params.choice, DrawPurpose::target);
    draw.token = draw_token(weights_, total, params, uniform);
  }
  draw.logprob = (logits[draw.token] - highest) - log_sum;
  if (params.top_logprobs > 0) {
    draw.top_logprobs = best(logits, params.top_logprobs);
    for (auto& [id, value] : draw.top_logprobs) value = (value - highest) - log_sum;
  }
  return draw;
}

float Sampler::log_probability(const float* logits, int32_t id) {
  const float highest = kernels_.maximum(logits, vocab_size_);
  const float sum = kernels_.exp_sum(logits, vocab_size_, 1.0f, highest, nullptr);
  return (logits[id] - highest) - log_fixed(sum);
}

void Sampler::bias_and_penalize(float* logits, const DrawContext& context) {
  const SamplingParams& params = *context.params;
  for (const auto& [id, bias] : params.logit_bias) {
    if (id >= 0 && static_cast<uint32_t>(id) < vocab_size_) logits[id] += bias;
  }
  if (!has_penalties(params) || context.history == nullptr) return;

  output_counts_.resize(vocab_size_);
  seen_.resize(vocab_size_);
  const auto each_token = [&](auto body) {
    const auto in_vocabulary = [&](int32_t id) {
      return id >= 0 && static_cast<uint32_t>(id) < vocab_size_;
    };
    const std::vector<int32_t>& tokens = context.history->tokens;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (in_vocabulary(tokens[i])) {
        body(static_cast<size_t>(tokens[i]), i >= context.history->num_prompt_tokens);
      }
    }
    for (const engine::InputToken& draft : context.drafts) {
      if (in_vocabulary(draft.value)) body(static_cast<size_t>(draft.value), true);
    }
  };
  each_token([&](size_t id, bool output) { output_counts_[id] += output ? 1 : 0; });
  each_token([&](size_t id, bool /*output*/) {
    if (seen_[id] != 0) return;
    seen_[id] = 1;
    float& logit = logits[id];
    logit = logit > 0.0f ? logit / params.repetition_penalty : logit * params.repetition_penalty;
    if (output_counts_[id] == 0) return;
    logit = logit - params.frequency_penalty * static_cast<float>(output_counts_[id]);
    logit = logit - params.presence_penalty;
  });
  each_token([&](size_t id, bool /*output*/) {
    output_counts_[id] = 0;
    seen_[id] = 0;
  });
}

std::vector<std::pair<int32_t, float>> Sampler::best(const float* logits, uint32_t count) const {
  std::vector<std::pair<int32_t, float>> found;  // descending, ties by ascending id
  for (uint32_t id = 0; id < vocab_size_; ++id) {
    const float logit = logits[id];
    if (logit == masked || (found.size() == count && logit <= found.back().second)) continue;
    const auto place = std::find_if(found.begin(), found.end(),
                                    [&](const auto& entry) { return entry.second < logit; });
    found.emplace(place, static_cast<int32_t>(id), logit);
    if (found.size() > count) found.pop_back();
  }
  return found;
}

}  // namespace troupe::cpu
