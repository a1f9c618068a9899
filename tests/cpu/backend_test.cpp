// What the backend promises beyond numbers: plans are checked, drafts are drawn as if alone, cached
// prompts recompute their last token without writing, damage fails one request and no other.
#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "cpu/cpu_backend.hpp"
#include "tests/support/cpu_sequence.hpp"
#include "tests/support/tiny_llama.hpp"

using namespace troupe;
using namespace troupe::cpu;

namespace {

std::unique_ptr<engine::Backend> make_backend(uint32_t pool_tokens, CpuOptions options = {}) {
  testing::TinyLlamaShape shape;
  shape.num_layers = 1;
  auto backend = make_cpu_backend(testing::make_tiny_llama(shape), options);
  REQUIRE(backend.ok());
  if (pool_tokens > 0) testing::attach_poisoned_pool(**backend, pool_tokens);
  return std::move(*backend);
}

Code submit_code(engine::Backend& backend, const engine::Span& span) {
  engine::StepPlan plan;
  plan.spans = {span};
  const auto ticket = backend.submit(std::move(plan));
  if (ticket.ok()) return Code::ok;
  CHECK(!ticket.error().hint.empty());
  return ticket.error().code;
}

}  // namespace

TEST_CASE("a plan that cannot be computed is an error") {
  CpuOptions options;
  options.step_tokens_max = 100;
  options.context_max = 200;
  auto backend = make_backend(0, options);
  const auto tokens = testing::random_tokens(300, 301, 1);
  const auto pages = testing::pages_from(0, 4);
  const engine::Span good = testing::make_span(tokens, 0, 70, pages);
  CHECK(submit_code(*backend, good) == Code::failed_precondition);
  testing::attach_poisoned_pool(*backend, 256);
  CHECK(submit_code(*backend, good) == Code::ok);
  CHECK(!backend->attach_pool({}).ok());

  engine::Span bad = testing::make_span(tokens, 0, 101, pages);
  CHECK(submit_code(*backend, bad) == Code::exhausted);
  bad = testing::make_span(tokens, 190, 201, pages);
  CHECK(submit_code(*backend, bad) == Code::invalid_argument);
  bad = good;
  bad.first_position = std::numeric_limits<uint32_t>::max() - 10;
  CHECK(submit_code(*backend, bad) == Code::invalid_argument);
  bad = good;
  bad.tokens.clear();
  CHECK(submit_code(*backend, bad) == Code::invalid_argument);
  bad = good;
  bad.tokens[3].value = 301;
  CHECK(submit_code(*backend, bad) == Code::invalid_argument);
  bad.tokens[3].value = -1;
  CHECK(submit_code(*backend, bad) == Code::invalid_argument);
  bad = good;
  bad.tokens[3].from_slot = 0;
  CHECK(submit_code(*backend, bad) == Code::invalid_argument);
  bad = good;
  bad.block_table.resize(1);
  CHECK(submit_code(*backend, bad) == Code::invalid_argument);
  bad = good;
  bad.block_table[1] = 4;
  CHECK(submit_code(*backend, bad) == Code::invalid_argument);
  bad = good;
  bad.num_draws = 1;
  CHECK(submit_code(*backend, bad) == Code::invalid_argument);
  bad = good;
  bad.score_targets = {1, 2};
  CHECK(submit_code(*backend, bad) == Code::invalid_argument);
  bad.score_targets.assign(70, 301);
  CHECK(submit_code(*backend, bad) == Code::invalid_argument);
}

TEST_CASE("a ticket is waited for once") {
  auto backend = make_backend(64);
  engine::StepPlan plan;
  plan.step = 9;
  plan.spans = {testing::make_span({1, 2, 3}, 0, 3, {0})};
  auto ticket = backend->submit(std::move(plan));
  REQUIRE(ticket.ok());
  CHECK(backend->poll(*ticket));
  CHECK(backend->wait(*ticket).ok());
  CHECK(!backend->poll(*ticket));
  const auto again = backend->wait(*ticket);
  REQUIRE(!again.ok());
  CHECK(again.error().code == Code::failed_precondition);
  engine::StepPlan empty;
  CHECK(backend->submit(std::move(empty)).ok());
}

TEST_CASE("drawing after drafts equals drawing one by one") {
  auto backend = make_backend(256);
  engine::SamplingParams sampling;
  sampling.seed = 3;
  sampling.repetition_penalty = 1.3f;
  sampling.presence_penalty = 0.4f;
  sampling.frequency_penalty = 0.2f;
  sampling.top_logprobs = 3;
  sampling.min_tokens = 3;
  sampling.stop_ids = {0, 1, 2};
  engine::TokenHistory history;
  history.tokens = testing::random_tokens(40, 301, 1);
  history.num_prompt_tokens = 40;
  const auto start = history;

  std::vector<engine::Draw> alone;
  for (int i = 0; i < 4; ++i) {
    const size_t from = i == 0 ? 0 : history.tokens.size() - 1;
    engine::Span span =
        testing::make_span(history.tokens, from, history.tokens.size(), testing::pages_from(0, 1));
    span.num_draws = 1;
    span.sampling = &sampling;
    span.history = &history;
    alone.push_back(testing::run_step(*backend, {span})[0].draws[0]);
    history.tokens.push_back(alone.back().token);
  }

  engine::Span span = testing::make_span(history.tokens, 0, 43, testing::pages_from(2, 1));
  span.num_draws = 4;
  span.sampling = &sampling;
  span.history = &start;
  const auto together = testing::run_step(*backend, {span})[0].draws;
  REQUIRE(together.size() == 4);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(together[i].token == alone[i].token);
    CHECK(testing::same_bits(together[i].logprob, alone[i].logprob));
    CHECK(together[i].top_logprobs == alone[i].top_logprobs);
  }
}

TEST_CASE("a prompt that is cached in full recomputes its last token without writing") {
  auto backend = make_backend(64);
  engine::SamplingParams sampling;
  sampling.temperature = 0;
  const auto tokens = testing::random_tokens(64, 301, 1);
  engine::Span whole = testing::make_span(tokens, 0, 64, {0});
  whole.num_draws = 1;
  whole.sampling = &sampling;
  const auto first = testing::run_step(*backend, {whole})[0].draws[0];

  // Writing would store this other token's key and value; reading back the stored ones would not
  // change the draw of the right token.
  engine::Span last = testing::make_span(tokens, 63, 64, {0});
  last.num_draws = 1;
  last.sampling = &sampling;
  last.write_kv = false;
  engine::Span other = last;
  other.tokens[0].value = (tokens[63] + 1) % 301;
  (void)testing::run_step(*backend, {other});
  const auto again = testing::run_step(*backend, {last})[0].draws[0];
  CHECK(again.token == first.token);
  CHECK(testing::same_bits(again.logprob, first.logprob));
}

TEST_CASE("NaN in the cache fails its own request alone") {
  auto backend = make_backend(192);
  engine::SamplingParams sampling;
  // Positions 0 to 63 of this sequence were never written: the pool holds NaN there.
  engine::Span damaged = testing::make_span(testing::random_tokens(65, 301, 1), 64, 65, {0, 1});
  damaged.num_draws = 1;
  damaged.sampling = &sampling;
  engine::Span healthy = testing::make_span({5, 6}, 0, 2, {2});
  healthy.num_draws = 1;
  healthy.sampling = &sampling;
  engine::StepPlan plan;
  plan.spans = {damaged, healthy};
  auto ticket = backend->submit(std::move(plan));
  REQUIRE(ticket.ok());
  auto result = backend->wait(*ticket);
  REQUIRE(result.ok());
  REQUIRE(result->spans[0].error.has_value());
  CHECK(result->spans[0].error->what.find("NaN") != std::string::npos);
  CHECK(!result->spans[1].error.has_value());
}

TEST_CASE("a model whose shapes contradict its configuration is refused") {
  auto broken = std::make_shared<model::Model>(*testing::make_tiny_llama({}));
  broken->weights.layers[1].ffn.gate.rows -= 1;
  auto backend = make_cpu_backend(broken, {});
  REQUIRE(!backend.ok());
  CHECK(backend.error().code == Code::corrupt);
  CHECK(backend.error().what.find("gate") != std::string::npos);
}

TEST_CASE("the description names what decides about KV bytes") {
  const auto model = testing::make_tiny_llama({});
  CHECK(describe(model->config, 0) == describe(model->config, 4096));
  CHECK(describe(model->config, 100) != describe(model->config, 200));
}
