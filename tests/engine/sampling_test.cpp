#include "engine/sampling.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace troupe::engine {
namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

void refused(const std::function<void(SamplingParams&)>& change, const char* words) {
  SamplingParams params;
  change(params);
  const Status status = validate(params, 100);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == Code::invalid_argument);
  CHECK_MESSAGE(status.error().message().find(words) != std::string::npos,
                status.error().message());
}

TEST_CASE("defaults and the ends of every range are legal") {
  CHECK(validate({}, 100).ok());
  SamplingParams params;
  params.temperature = 0;
  params.top_k = 1 << 30;
  params.top_p = 1e-6f;
  params.min_p = 1;
  params.repetition_penalty = 0.1f;
  params.presence_penalty = -2;
  params.frequency_penalty = 2;
  params.logit_bias = {{0, -100.0f}, {99, 100.0f}};
  params.stop_ids = {0, 99};
  params.max_tokens = params.min_tokens = 1;
  params.choice = limits::choices_max - 1;
  params.top_logprobs = limits::top_logprobs_max;
  CHECK(validate(params, 100).ok());
}

TEST_CASE("values out of range are refused by name, value and range") {
  refused([](auto& p) { p.temperature = -0.5f; }, "temperature is -0.5 (legal: from 0 to 100)");
  refused([](auto& p) { p.temperature = nan_value; }, "temperature is nan");
  refused([](auto& p) { p.temperature = infinity; }, "temperature is inf");
  refused([](auto& p) { p.top_k = -1; }, "top_k is -1");
  refused([](auto& p) { p.top_p = 0; }, "top_p is 0 (legal: above 0 up to 1)");
  refused([](auto& p) { p.top_p = 1.5f; }, "top_p");
  refused([](auto& p) { p.min_p = -0.1f; }, "min_p");
  refused([](auto& p) { p.typical_p = nan_value; }, "typical_p");
  refused([](auto& p) { p.repetition_penalty = 0; }, "repetition_penalty");
  refused([](auto& p) { p.presence_penalty = infinity; }, "presence_penalty");
  refused([](auto& p) { p.frequency_penalty = -infinity; }, "frequency_penalty");
  refused([](auto& p) { p.max_tokens = 0; }, "max_tokens is 0 (legal: from 1 to 1048576)");
  refused([](auto& p) { p.max_tokens = UINT32_MAX; }, "max_tokens");
  refused([](auto& p) { p.min_tokens = 257; }, "min_tokens is 257 (legal: from 0 to 256)");
  refused([](auto& p) { p.choice = 128; }, "choice is 128");
  refused([](auto& p) { p.top_logprobs = 21; }, "top_logprobs is 21");
  refused([](auto& p) { p.stop_ids = {5, 100}; }, "stop_ids[1] is token id 100");
  refused([](auto& p) { p.stop_ids.assign(65, 1); }, "the number of stop_ids is 65");
  refused([](auto& p) { p.logit_bias = {{-1, 0.0f}}; }, "logit_bias[0] is token id -1");
  refused([](auto& p) { p.logit_bias = {{1, nan_value}}; }, "logit_bias[0] is nan");
  refused([](auto& p) { p.logit_bias.assign(1025, {1, 0.0f}); }, "logit_bias entries is 1025");
}

}  // namespace
}  // namespace troupe::engine
