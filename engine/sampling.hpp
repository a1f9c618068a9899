// How tokens are drawn: the caller's parameters and what the draw must know (numerics.md 7).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace troupe::engine {

struct SamplingParams {
  float temperature = 1.0f;         ///< 0: greedy
  int32_t top_k = 0;                ///< 0: off
  float top_p = 1.0f;               ///< 1: off
  float min_p = 0.0f;               ///< 0: off
  float typical_p = 1.0f;           ///< 1: off
  float repetition_penalty = 1.0f;  ///< 1: off; counts prompt and output
  float presence_penalty = 0.0f;    ///< output only
  float frequency_penalty = 0.0f;   ///< output only
  std::vector<std::pair<int32_t, float>> logit_bias;
  uint64_t seed = 0;
  uint32_t choice = 0;  ///< index among the n choices of a request
  uint32_t max_tokens = 256;
  uint32_t min_tokens = 0;  ///< stop ids are masked until then
  bool ignore_eos = false;
  std::vector<int32_t> stop_ids;  ///< model's and caller's
  uint32_t top_logprobs = 0;      ///< alternatives reported per token
};

/// Errors name the field, its value and the legal range.
Status validate(const SamplingParams& params, uint32_t vocab_size);

namespace limits {
inline constexpr uint32_t max_tokens_max = 1u << 20;
inline constexpr uint32_t top_logprobs_max = 20;
inline constexpr uint32_t logit_bias_max = 1024;
inline constexpr uint32_t stop_ids_max = 64;
inline constexpr uint32_t choices_max = 128;
inline constexpr float temperature_max = 100.0f;
inline constexpr float repetition_penalty_max = 100.0f;
inline constexpr float penalty_abs_max = 100.0f;  ///< presence and frequency
inline constexpr float logit_bias_abs_max = 1000.0f;
}  // namespace limits

}  // namespace troupe::engine
