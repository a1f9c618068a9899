#include "engine/sampling.hpp"

#include <cmath>

#include "base/concat.hpp"

namespace troupe::engine {

namespace {

Error out_of_range(const char* field, const std::string& value, const std::string& range) {
  return error(Code::invalid_argument, concat(field, " is ", value), concat("legal: ", range));
}

/// `low` and `high` belong to the range unless `low_open`; NaN is in no range.
Status check(const char* field, float value, float low, float high, bool low_open = false) {
  const bool above = low_open ? value > low : value >= low;
  if (above && value <= high) return {};
  return out_of_range(
      field, concat(value),
      concat(low_open ? "above " : "from ", low, low_open ? " up to " : " to ", high));
}

Status check_count(const char* field, uint64_t value, uint64_t low, uint64_t high) {
  if (value >= low && value <= high) return {};
  return out_of_range(field, concat(value), concat("from ", low, " to ", high));
}

Status check_id(const std::string& field, int32_t id, uint32_t vocab_size) {
  if (id >= 0 && static_cast<uint32_t>(id) < vocab_size) return {};
  return out_of_range(field.c_str(), concat("token id ", id),
                      concat("from 0 to ", vocab_size - 1, ", the model's vocabulary"));
}

Status check_bias(const SamplingParams& params, uint32_t vocab_size) {
  TROUPE_TRY(check_count("the number of logit_bias entries", params.logit_bias.size(), 0,
                         limits::logit_bias_max));
  for (size_t i = 0; i < params.logit_bias.size(); ++i) {
    const std::string field = concat("logit_bias[", i, "]");
    TROUPE_TRY(check_id(field, params.logit_bias[i].first, vocab_size));
    TROUPE_TRY(check(field.c_str(), params.logit_bias[i].second, -limits::logit_bias_abs_max,
                     limits::logit_bias_abs_max));
  }
  return {};
}

Status check_stops(const SamplingParams& params, uint32_t vocab_size) {
  TROUPE_TRY(
      check_count("the number of stop_ids", params.stop_ids.size(), 0, limits::stop_ids_max));
  for (size_t i = 0; i < params.stop_ids.size(); ++i) {
    TROUPE_TRY(check_id(concat("stop_ids[", i, "]"), params.stop_ids[i], vocab_size));
  }
  return {};
}

}  // namespace

Status validate(const SamplingParams& params, uint32_t vocab_size) {
  TROUPE_TRY(check("temperature", params.temperature, 0.0f, limits::temperature_max));
  if (params.top_k < 0) {
    return out_of_range("top_k", concat(params.top_k), "0 (off) or a positive number of tokens");
  }
  TROUPE_TRY(check("top_p", params.top_p, 0.0f, 1.0f, true));
  TROUPE_TRY(check("min_p", params.min_p, 0.0f, 1.0f));
  TROUPE_TRY(check("typical_p", params.typical_p, 0.0f, 1.0f, true));
  TROUPE_TRY(check("repetition_penalty", params.repetition_penalty, 0.0f,
                   limits::repetition_penalty_max, true));
  TROUPE_TRY(check("presence_penalty", params.presence_penalty, -limits::penalty_abs_max,
                   limits::penalty_abs_max));
  TROUPE_TRY(check("frequency_penalty", params.frequency_penalty, -limits::penalty_abs_max,
                   limits::penalty_abs_max));
  TROUPE_TRY(check_bias(params, vocab_size));
  TROUPE_TRY(check_count("choice", params.choice, 0, limits::choices_max - 1));
  TROUPE_TRY(check_count("max_tokens", params.max_tokens, 1, limits::max_tokens_max));
  TROUPE_TRY(check_count("min_tokens", params.min_tokens, 0, params.max_tokens));
  TROUPE_TRY(check_stops(params, vocab_size));
  return check_count("top_logprobs", params.top_logprobs, 0, limits::top_logprobs_max);
}

}  // namespace troupe::engine
