// SmolLM2 and the tiny Llama files on the CPU backend against transformers in float32, in both
// compute modes; tolerances: docs/numerics.md section 9.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cpu/cpu_backend.hpp"
#include "model/model.hpp"
#include "tests/support/cpu_sequence.hpp"
#include "tests/support/test_files.hpp"
#include "text/tokenizer.hpp"

using namespace troupe;
using nlohmann::json;

namespace {

constexpr double exact_tolerance = 5e-4;
constexpr double clear_margin = 1e-3;

json read_json(const std::filesystem::path& path) {
  std::ifstream in(path);
  return json::parse(in);
}

std::unique_ptr<engine::Backend> make_backend(std::shared_ptr<const model::Model> model,
                                              cpu::ComputeMode mode) {
  cpu::CpuOptions options;
  options.mode = mode;
  auto backend = cpu::make_cpu_backend(std::move(model), options);
  if (!backend.ok()) FAIL(backend.error().message());
  testing::attach_poisoned_pool(**backend, 2048);
  return std::move(*backend);
}

/// Log-probability of tokens[i + 1] after tokens[i], for every i but the last; chunks of 512.
std::vector<double> score(engine::Backend& backend, const std::vector<int32_t>& tokens) {
  const auto pages = testing::pages_from(0, 32);
  std::vector<double> scores;
  for (size_t begin = 0; begin + 1 < tokens.size(); begin += 512) {
    const size_t end = std::min(begin + 512, tokens.size() - 1);
    engine::Span span = testing::make_span(tokens, begin, end, pages);
    span.score_targets.assign(tokens.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                              tokens.begin() + static_cast<std::ptrdiff_t>(end) + 1);
    const auto results = testing::run_step(backend, {span});
    scores.insert(scores.end(), results[0].scores.begin(), results[0].scores.end());
  }
  return scores;
}

/// Greedy draws and raw logits after each of the last `count` tokens.
engine::SpanResult draw_last(engine::Backend& backend, const std::vector<int32_t>& tokens,
                             uint32_t count) {
  engine::SamplingParams greedy;
  greedy.temperature = 0;
  engine::TokenHistory history;
  engine::Span span = testing::make_span(tokens, 0, tokens.size(), testing::pages_from(0, 32));
  span.num_draws = count;
  span.sampling = &greedy;
  span.history = &history;
  span.keep_logits = true;
  return testing::run_step(backend, {span})[0];
}

struct Difference {
  double sum = 0, max = 0;
  size_t count = 0;

  void add(double a, double b) {
    const double d = std::fabs(a - b);
    sum += d;
    max = std::max(max, d);
    ++count;
  }
  [[nodiscard]] double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

/// One prompt of a reference: logits at its end and the log-probabilities of the greedy path,
/// teacher-forced. Returns the log-probabilities' difference.
void check_prompt(engine::Backend& backend, const json& prompt, bool exact, Difference& logprobs) {
  auto tokens = prompt["ids"].get<std::vector<int32_t>>();
  const size_t prompt_size = tokens.size();
  const auto greedy = prompt["greedy"].get<std::vector<int32_t>>();
  const auto steps = static_cast<uint32_t>(greedy.size());
  tokens.insert(tokens.end(), greedy.begin(), greedy.end() - 1);
  const engine::SpanResult result = draw_last(backend, tokens, steps);
  const size_t vocab = backend.capabilities().vocab_size;

  if (exact) {
    const char* key =
        prompt.contains("last_logits_top20") ? "last_logits_top20" : "last_logits_top10";
    for (const json& entry : prompt[key]) {
      CHECK(std::fabs(result.logits[entry[0].get<size_t>()] - entry[1].get<double>()) <=
            exact_tolerance);
    }
  }
  for (size_t i = 0; i < steps; ++i) {
    const double expected = prompt["greedy_logprob"][i].get<double>();
    if (exact && prompt["greedy_margin"][i].get<double>() >= clear_margin) {
      CHECK(result.draws[i].token == greedy[i]);
    }
    // The log-probability of the reference's token, drawn here or not.
    double sum = 0;
    for (size_t v = 0; v < vocab; ++v) sum += std::exp(double{result.logits[i * vocab + v]});
    const double ours =
        double{result.logits[i * vocab + static_cast<size_t>(greedy[i])]} - std::log(sum);
    logprobs.add(ours, expected);
    if (result.draws[i].token == greedy[i]) {
      CHECK(std::fabs(double{result.draws[i].logprob} - ours) < 1e-4);
    }
  }
  if (prompt_size > 1) {
    tokens.resize(prompt_size);
    double nll = 0;
    for (const double logprob : score(backend, tokens)) nll -= logprob;
    const double expected = prompt["prompt_nll_sum"].get<double>();
    CHECK(nll == doctest::Approx(expected).epsilon(exact ? 1e-4 : 0.03));
  }
}

std::shared_ptr<const model::Model> load(const std::string& path) {
  auto model = model::load_model(path);
  if (!model.ok()) FAIL(model.error().message());
  return *model;
}

/// Perplexity over one window of all tokens.
void check_perplexity(engine::Backend& backend, const std::vector<int32_t>& tokens, double expected,
                      double relative) {
  double nll = 0;
  for (const double logprob : score(backend, tokens)) nll -= logprob;
  const double perplexity = std::exp(nll / static_cast<double>(tokens.size() - 1));
  MESSAGE("perplexity ", perplexity, ", reference ", expected);
  CHECK(perplexity == doctest::Approx(expected).epsilon(relative));
}

void check_model(const std::shared_ptr<const model::Model>& model, const std::string& name,
                 const json& reference, const std::vector<int32_t>& text = {}) {
  for (const bool exact : {true, false}) {
    auto backend = make_backend(model, exact ? cpu::ComputeMode::exact : cpu::ComputeMode::fast);
    Difference logprobs;
    for (const json& prompt : reference["prompts"]) {
      check_prompt(*backend, prompt, exact, logprobs);
    }
    MESSAGE(name, std::string(exact ? " exact" : " fast"), ": log-probabilities differ by mean ",
            logprobs.mean(), ", max ", logprobs.max, " over ", logprobs.count);
    CHECK(logprobs.mean() <= (exact ? exact_tolerance : 0.05));
    CHECK(logprobs.max <= (exact ? exact_tolerance : 0.5));
    if (!text.empty()) {
      check_perplexity(*backend, text, reference["perplexity"]["ppl"].get<double>(),
                       exact ? 1e-4 : 1e-2);
    }
  }
}

}  // namespace

TEST_CASE("tiny Llama files agree with transformers in both compute modes") {
  const std::filesystem::path folder = testing::fixtures_dir() / "gguf";
  if (!std::filesystem::exists(folder)) {
    MESSAGE("SKIPPED: the fixtures are absent (TROUPE_FIXTURES)");
    return;
  }
  for (const char* name : {"llama-256-F16", "llama-256-Q4_0", "llama3-rope-F16", "llama3-rope-Q8_0",
                           "llama3-rope-Q4_0", "llama3-rope-Q4_1"}) {
    CAPTURE(name);
    auto model = load((folder / (std::string(name) + ".gguf")).string());
    check_model(model, name, read_json(folder / (std::string(name) + ".reference.json")));
  }
}

TEST_CASE("SmolLM2 agrees with transformers in both compute modes") {
  const std::filesystem::path folder = testing::fixtures_dir() / "smollm2";
  if (!std::filesystem::exists(folder)) {
    MESSAGE("SKIPPED: the fixtures are absent (TROUPE_FIXTURES)");
    return;
  }
  if (!std::filesystem::exists(testing::smollm2_path())) {
    MESSAGE("SKIPPED: SmolLM2-135M-Instruct.Q4_1.gguf is absent (TROUPE_WEIGHTS)");
    return;
  }
  auto model = load(testing::smollm2_path().string());
  const json reference = read_json(folder / "reference.json");

  auto tokenizer = text::Tokenizer::make(model->tokenizer);
  if (!tokenizer.ok()) FAIL(tokenizer.error().message());
  std::ifstream in(folder / "perplexity-alice.txt", std::ios::binary);
  const std::string alice{std::istreambuf_iterator<char>(in), {}};
  auto tokens = (*tokenizer)->encode(alice);
  REQUIRE(tokens.ok());
  REQUIRE(tokens->size() == 2048);

  check_model(model, "SmolLM2", reference, *tokens);
}
