// From a row of logits to a token, by docs/numerics.md section 7. The chain is fixed: logit bias,
// penalties, mask, temperature, top-k, top-p, min-p, typical; then one counter-based draw.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "cpu/kernel_table.hpp"
#include "engine/sampling.hpp"
#include "engine/step_plan.hpp"

namespace troupe::cpu {

struct DrawContext {
  const engine::SamplingParams* params = nullptr;
  const engine::TokenHistory* history = nullptr;  ///< may be null where nothing asks for it
  /// Drafts before this draw: they follow the history.
  std::span<const engine::InputToken> drafts;
  uint32_t position = 0;  ///< of the token to be drawn, counted from the first prompt token
};

/// One per thread: it keeps scratch memory between draws.
class Sampler {
 public:
  Sampler(const KernelTable& kernels, uint32_t vocab_size);

  /// Draws from logits[vocab_size], which are changed. Errors: internal (NaN or infinity among
  /// them), invalid_argument (bias and mask leave no token).
  Result<engine::Draw> draw(float* logits, const DrawContext& context);

  /// log softmax(logits)[id]; NaN when a logit is NaN or +inf.
  float log_probability(const float* logits, int32_t id);

 private:
  void bias_and_penalize(float* logits, const DrawContext& context);
  std::vector<std::pair<int32_t, float>> best(const float* logits, uint32_t count) const;

  const KernelTable& kernels_;
  uint32_t vocab_size_;
  std::vector<float> weights_;
  std::vector<uint32_t> output_counts_;  ///< zero between draws
  std::vector<uint8_t> seen_;            ///< zero between draws
};

}  // namespace troupe::cpu
