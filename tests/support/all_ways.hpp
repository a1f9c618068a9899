// The invariance contract of the forward pass: tokens, log-probabilities and scores of a sequence
// have the same bits whatever the chunks, the company, the threads and the instruction set.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cpu/cpu_backend.hpp"
#include "cpu/kernel_table.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/cpu_sequence.hpp"
#include "tests/support/isas.hpp"
#include "tests/support/tiny_llama.hpp"

namespace troupe::testing::ways {

inline constexpr uint32_t prompt_tokens = 150;
inline constexpr uint32_t output_tokens = 5;
inline constexpr uint32_t pages_each = 3;

struct Setup {
  cpu::CpuOptions options;
  uint32_t prompt = prompt_tokens;
  size_t chunk = prompt_tokens;
  uint32_t companions = 0;  ///< other sequences in every step
  bool cached = false;      ///< the whole prompt is there before it is drawn from
  float temperature = 1.0f;
};

struct Outcome {
  std::vector<int32_t> tokens;
  std::vector<float> numbers;  ///< log-probabilities of the draws, then scores of the prompt

  bool operator==(const Outcome& other) const {
    return tokens == other.tokens && first_difference(numbers, other.numbers) == -1;
  }
};

class Run {
 public:
  Run(std::shared_ptr<const model::Model> model, const Setup& setup) : setup_(setup) {
    auto made = cpu::make_cpu_backend(std::move(model), setup.options);
    if (!made.ok()) FAIL(made.error().message());
    backend_ = std::move(*made);
    pages_ = (setup.prompt + output_tokens + 63) / 64;
    attach_poisoned_pool(*backend_, 64 * (pages_each * setup.companions + pages_));
    sampling_.temperature = setup.temperature;
    sampling_.seed = 42;
  }

  Outcome operator()() {
    const uint32_t vocab = backend_->capabilities().vocab_size;
    history_.tokens = random_tokens(setup_.prompt, vocab, 5);
    history_.num_prompt_tokens = setup_.prompt;
    // The pages of the sequence under test lie behind those of its company, in descending order.
    auto pages = pages_from(pages_each * setup_.companions, pages_);
    std::reverse(pages.begin(), pages.end());
    for (size_t begin = 0; begin < setup_.prompt; begin += setup_.chunk) {
      const size_t end = std::min<size_t>(begin + setup_.chunk, setup_.prompt);
      engine::Span span = make_span(history_.tokens, begin, end, pages);
      for (size_t i = begin; i < end; ++i) {
        span.score_targets.push_back(i + 1 < setup_.prompt ? history_.tokens[i + 1] : -1);
      }
      step(std::move(span), end == setup_.prompt && !setup_.cached);
    }
    if (setup_.cached) {
      auto span = make_span(history_.tokens, setup_.prompt - 1, setup_.prompt, pages);
      span.write_kv = false;
      step(std::move(span), true);
    }
    while (history_.num_output_tokens() < output_tokens) {
      const size_t last = history_.tokens.size() - 1;
      step(make_span(history_.tokens, last, last + 1, pages), true);
    }
    outcome_.tokens = history_.tokens;
    outcome_.numbers.insert(outcome_.numbers.end(), scores_.begin(), scores_.end());
    return outcome_;
  }

 private:
  void step(engine::Span span, bool draws) {
    if (draws) {
      span.num_draws = 1;
      span.sampling = &sampling_;
      span.history = &history_;
    }
    std::vector<engine::Span> spans;
    for (uint32_t i = 0; i < setup_.companions; ++i) spans.push_back(companion(i));
    // In the middle of its company.
    const size_t at = spans.size() / 2;
    spans.insert(spans.begin() + static_cast<std::ptrdiff_t>(at), std::move(span));
    const auto result = run_step(*backend_, std::move(spans))[at];
    for (const float score : result.scores) scores_.push_back(score);
    for (const engine::Draw& draw : result.draws) {
      history_.tokens.push_back(draw.token);
      outcome_.numbers.push_back(draw.logprob);
    }
    ++steps_;
  }

  /// Another sequence: computed from its start in each step, some longer, some a single token.
  engine::Span companion(uint32_t i) {
    const uint32_t length = 1 + (i * 37 + steps_ * 11) % (64 * pages_each - 1);
    const auto tokens = random_tokens(length, backend_->capabilities().vocab_size, 100 + i);
    engine::Span span = make_span(tokens, 0, length, pages_from(i * pages_each, pages_each));
    span.num_draws = 1;
    span.sampling = &sampling_;
    return span;
  }

  Setup setup_;
  uint32_t pages_ = 0;  ///< of the sequence under test
  std::unique_ptr<engine::Backend> backend_;
  engine::SamplingParams sampling_;
  engine::TokenHistory history_;
  std::vector<float> scores_;
  Outcome outcome_;
  uint32_t steps_ = 0;
};

/// Every way against one plain run, greedy and sampled.
inline void check_all_ways(const std::shared_ptr<const model::Model>& model,
                           const cpu::CpuOptions& options) {
  for (const float temperature : {0.0f, 1.0f}) {
    Setup plain;
    plain.options = options;
    plain.options.threads = 1;
    plain.temperature = temperature;
    const Outcome want = Run(model, plain)();
    REQUIRE(want.tokens.size() == prompt_tokens + output_tokens);
    REQUIRE(want.numbers.size() == prompt_tokens + output_tokens);
    CAPTURE(temperature);
    for (const size_t chunk : {size_t{1}, size_t{16}, size_t{64}}) {
      Setup setup = plain;
      setup.chunk = chunk;
      CAPTURE(chunk);
      CHECK(Run(model, setup)() == want);
    }
    for (const int threads : {2, 3}) {
      Setup setup = plain;
      setup.options.threads = threads;
      setup.chunk = 50;
      CAPTURE(threads);
      CHECK(Run(model, setup)() == want);
    }
    Setup cached = plain;
    cached.cached = true;
    cached.chunk = 64;
    CHECK(Run(model, cached)() == want);
    Setup company = plain;
    company.companions = 8;
    company.chunk = 40;
    company.options.threads = 2;
    CHECK(Run(model, company)() == want);
    for (const cpu::Isa isa : cpu::all_isas) {
      if (!cpu::cpu_has(isa)) continue;
      Setup setup = plain;
      setup.options.isa = isa;
      CAPTURE(std::string(cpu::name(isa)));
      CHECK(Run(model, setup)() == want);
    }
  }
}

}  // namespace troupe::testing::ways
