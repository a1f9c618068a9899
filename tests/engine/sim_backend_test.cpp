// The simulated device must notice what an engine could do wrong with pages.
#include "engine/sim_backend.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "tests/support/sim_world.hpp"

namespace troupe::testing {
namespace {

using engine::SimBackend;
using engine::SimOptions;
using engine::Span;
using engine::SpanResult;
using engine::StepPlan;
using engine::StepResult;
using engine::TokenHistory;

struct Device {
  SimBackend backend;
  kv::Region region;
  engine::SamplingParams sampling;
  uint64_t step = 0;

  explicit Device(SimOptions options = {})
      : backend(options),
        region(kv::allocate_region(16 * backend.kv_layout().block_bytes()).value()) {
    REQUIRE(backend.attach_pool(region).ok());
  }

  static Span span(const std::vector<int32_t>& tokens, uint32_t first, uint32_t end,
                   std::vector<kv::PageId> table) {
    Span span;
    span.first_position = first;
    for (uint32_t i = first; i < end; ++i) span.tokens.push_back({tokens[i], -1});
    span.block_table = std::move(table);
    return span;
  }

  Span drawing(Span span, const TokenHistory& history, uint32_t num_draws = 1) {
    span.num_draws = num_draws;
    span.sampling = &sampling;
    span.history = &history;
    return span;
  }

  std::vector<SpanResult> run(std::vector<Span> spans) {
    auto ticket = backend.submit({++step, std::move(spans)});
    REQUIRE(ticket.ok());
    return backend.wait(*ticket)->spans;
  }
  SpanResult run(Span span) { return run(std::vector<Span>{std::move(span)})[0]; }
};

TEST_CASE("chunks, drafts and whole prompts draw the same") {
  Device device;
  const std::vector<int32_t> tokens = sim_tokens(100, 1);
  const TokenHistory whole{tokens, 90};
  const SpanResult at_once =
      device.run(device.drawing(Device::span(tokens, 0, 100, {0, 1}), whole));
  REQUIRE_FALSE(at_once.error.has_value());
  CHECK_FALSE(device.run(Device::span(tokens, 0, 95, {5, 3})).error.has_value());
  const TokenHistory known{{tokens.begin(), tokens.begin() + 96}, 90};
  const SpanResult drafted =
      device.run(device.drawing(Device::span(tokens, 95, 100, {5, 3}), known, 5));
  REQUIRE_FALSE(drafted.error.has_value());
  REQUIRE(drafted.draws.size() == 5);
  CHECK(drafted.draws[4].token == at_once.draws[0].token);
  CHECK(drafted.draws[4].logprob == at_once.draws[0].logprob);
}

TEST_CASE("a slot that was never written is an error") {
  Device device;
  const std::vector<int32_t> tokens = sim_tokens(100, 1);
  const SpanResult result = device.run(Device::span(tokens, 10, 20, {0}));
  REQUIRE(result.error.has_value());
  CHECK(result.error->code == Code::corrupt);
  CHECK(result.error->what.find("position 0 in page 0 was never written") != std::string::npos);
}

TEST_CASE("another sequence's slots are an error, equal ones are not") {
  Device device;
  const std::vector<int32_t> tokens = sim_tokens(100, 1), other = sim_tokens(100, 2);
  device.run(std::vector<Span>{Device::span(tokens, 0, 70, {0, 1}),
                               Device::span(other, 0, 70, {2, 3}),
                               Device::span(tokens, 0, 70, {4, 5})});
  CHECK_FALSE(device.run(Device::span(tokens, 70, 80, {0, 5})).error.has_value());
  // The second page continues another text than the first.
  CHECK(device.run(Device::span(tokens, 70, 80, {0, 3})).error->what.find("does not follow") !=
        std::string::npos);
  // Pages of one text, but not of the one that the sequence has.
  const TokenHistory history{{tokens.begin(), tokens.begin() + 71}, 71};
  const SpanResult wrong =
      device.run(device.drawing(Device::span(tokens, 70, 71, {2, 3}), history));
  CHECK(wrong.error->what.find("the sequence has token") != std::string::npos);
  // Pages in the wrong order.
  CHECK(device.run(Device::span(tokens, 70, 80, {1, 0})).error.has_value());
}

TEST_CASE("a page that was used again is an error") {
  Device device;
  const std::vector<int32_t> tokens = sim_tokens(100, 1);
  device.run(Device::span(tokens, 0, 64, {0}));
  device.run(Device::span(sim_tokens(100, 2), 0, 10, {0}));
  CHECK(device.run(Device::span(tokens, 64, 65, {0, 1})).error.has_value());
}

TEST_CASE("a page that one span writes and another uses is an error") {
  Device device;
  const std::vector<int32_t> tokens = sim_tokens(200, 1);
  device.run(Device::span(tokens, 0, 64, {0}));
  const auto results = device.run(std::vector<Span>{Device::span(tokens, 64, 70, {0, 1}),
                                                    Device::span(tokens, 64, 70, {0, 1}),
                                                    Device::span(tokens, 64, 70, {0, 2})});
  CHECK_FALSE(results[0].error.has_value());
  CHECK(results[1].error->what.find("page 1") != std::string::npos);
  CHECK_FALSE(results[2].error.has_value());
}

TEST_CASE("malformed spans are refused one by one") {
  Device device(SimOptions{.context_max = 150});
  const std::vector<int32_t> tokens = sim_tokens(200, 1);
  const auto code = [&](Span span) {
    const SpanResult result = device.run(std::move(span));
    REQUIRE(result.error.has_value());
    return result.error->code;
  };
  CHECK(code(Device::span(tokens, 0, 65, {0})) == Code::invalid_argument);
  CHECK(code(Device::span(tokens, 0, 10, {16})) == Code::invalid_argument);
  CHECK(code(Device::span(tokens, 0, 0, {})) == Code::invalid_argument);
  CHECK(code(Device::span(tokens, 0, 151, {0, 1, 2})) == Code::invalid_argument);
  CHECK(code(Device::span({1000}, 0, 1, {0})) == Code::invalid_argument);
  Span span = Device::span(tokens, 0, 10, {0});
  span.num_draws = 1;
  CHECK(code(span) == Code::invalid_argument);
  const TokenHistory history{tokens, 200};
  CHECK(code(device.drawing(span, history)) == Code::invalid_argument);
  span = Device::span(tokens, 0, 10, {0});
  span.tokens[3].from_slot = 0;
  CHECK(code(span) == Code::unsupported);
  span = Device::span(tokens, 0, 2, {0});
  span.score_targets = {1, 5000};
  CHECK(code(span) == Code::invalid_argument);
}

TEST_CASE("scores, logits and alternatives agree with one another") {
  Device device;
  device.sampling.temperature = 0;
  device.sampling.top_logprobs = 3;
  const TokenHistory history{sim_tokens(10, 1), 10};
  Span span = device.drawing(Device::span(history.tokens, 0, 10, {0}), history);
  span.keep_logits = true;
  const SpanResult first = device.run(span);
  REQUIRE(first.logits.size() == 1000);
  REQUIRE(first.draws[0].top_logprobs.size() == 3);
  CHECK(first.draws[0].top_logprobs[0].first == first.draws[0].token);
  CHECK(first.draws[0].top_logprobs[1].second >= first.draws[0].top_logprobs[2].second);
  span.score_targets.assign(10, -1);
  span.score_targets[9] = first.draws[0].token;
  const SpanResult scored = device.run(span);
  CHECK(scored.scores[9] == first.draws[0].logprob);
}

TEST_CASE("tickets come back in order, each once, and only after a pool was attached") {
  SimBackend detached{SimOptions{}};
  CHECK(detached.submit({}).error().code == Code::failed_precondition);
  Device device(SimOptions{.step_tokens_max = 10});
  const std::vector<int32_t> tokens = sim_tokens(100, 1);
  CHECK_FALSE(device.backend.submit({1, {Device::span(tokens, 0, 11, {0})}}).ok());
  const auto first = device.backend.submit({1, {}});
  const auto second = device.backend.submit({2, {}});
  CHECK_FALSE(device.backend.wait(*second).ok());
  CHECK(device.backend.wait(*first)->step == 1);
  CHECK_FALSE(device.backend.wait(*first).ok());
  CHECK(device.backend.wait(*second)->step == 2);
}

TEST_CASE("without a clock of its own it really takes its time") {
  Device device(SimOptions{.us_per_step = 2000, .us_per_token = 100});
  const TimeUs start_us = now_us();
  const auto ticket = device.backend.submit({1, {Device::span(sim_tokens(10, 1), 0, 10, {0})}});
  CHECK_FALSE(device.backend.poll(*ticket));
  CHECK(device.backend.wait(*ticket)->compute_us == 3000);
  CHECK(now_us() - start_us >= 3000);
}

}  // namespace
}  // namespace troupe::testing
