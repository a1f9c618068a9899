#include "tests/check/reference_run.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <vector>

#include "base/concat.hpp"
#include "cpu/cpu_backend.hpp"
#include "engine/backend.hpp"
#include "kv/region.hpp"

namespace troupe::check {

namespace {

using Json = nlohmann::json;

constexpr double exact_tolerance = 5e-4;  // logits and log-probabilities, docs/numerics.md 9
constexpr double clear_margin = 1e-3;     // a greedy step that rounding cannot turn
/// Of log-probabilities in fast mode: in the mean of a prompt, and of one token.
struct FastBounds {
  double mean_max;
  double max;
};
constexpr FastBounds fast_bounds = {0.05, 0.5};
constexpr FastBounds fast_bounds_with_experts = {0.1, 1.0};  // a router's near tie may turn
constexpr uint32_t span_sizes[] = {300, 64, 7, 1};

struct Prompt {
  std::vector<int32_t> tokens;  ///< the prompt and the greedy continuation but its last token
  size_t prompt_size = 0;
  std::vector<int32_t> greedy;
};

/// What the model says about a prompt.
struct Outputs {
  std::vector<float> scores;  ///< [prompt_size - 1]: log-probability of each next prompt token
  std::vector<float> logits;  ///< [greedy.size(), vocab]

  bool operator==(const Outputs&) const = default;
};

class Runner {
 public:
  static Result<Runner> make(const std::shared_ptr<const model::Model>& model, bool exact,
                             uint32_t tokens_max) {
    cpu::CpuOptions options;
    options.mode = exact ? cpu::ComputeMode::exact : cpu::ComputeMode::fast;
    options.threads = 1;
    Runner runner;
    TROUPE_ASSIGN(runner.backend_, cpu::make_cpu_backend(model, options));
    const kv::KvLayout& layout = runner.backend_->kv_layout();
    const uint32_t pages =
        (tokens_max + layout.tokens_per_block - 1) / layout.tokens_per_block * layout.num_groups();
    TROUPE_ASSIGN(runner.region_, kv::allocate_region(pages * layout.block_bytes()));
    runner.pages_.resize(pages);
    std::iota(runner.pages_.begin(), runner.pages_.end(), 0u);
    TROUPE_TRY(runner.backend_->attach_pool(runner.region_));
    return runner;
  }

  [[nodiscard]] size_t vocab() const { return backend_->capabilities().vocab_size; }

  Result<Outputs> run(const Prompt& prompt, uint32_t span_size) {
    // Slots that were not written hold NaN, so that a read of one shows.
    std::fill_n(region_.data, region_.bytes, std::byte{0xff});
    Outputs outputs;
    for (size_t begin = 0; begin < prompt.tokens.size(); begin += span_size) {
      const size_t end = std::min(begin + span_size, prompt.tokens.size());
      TROUPE_TRY(step(prompt, begin, end, outputs));
    }
    return outputs;
  }

 private:
  Status step(const Prompt& prompt, size_t begin, size_t end, Outputs& outputs) {
    engine::SamplingParams greedy;
    greedy.temperature = 0;
    const engine::TokenHistory history;
    engine::Span span;
    span.first_position = static_cast<uint32_t>(begin);
    for (size_t i = begin; i < end; ++i) {
      span.tokens.push_back({prompt.tokens[i], -1});
      const bool scored = i + 1 < prompt.prompt_size;
      span.score_targets.push_back(scored ? prompt.tokens[i + 1] : -1);
    }
    span.block_table = pages_;
    const size_t first_draw = std::max(begin, prompt.prompt_size - 1);
    span.num_draws = end > first_draw ? static_cast<uint32_t>(end - first_draw) : 0;
    span.sampling = &greedy;
    span.history = &history;
    span.keep_logits = true;
    engine::StepPlan plan;
    plan.step = ++steps_;
    plan.spans.push_back(std::move(span));
    TROUPE_ASSIGN(const engine::Ticket ticket, backend_->submit(std::move(plan)));
    TROUPE_ASSIGN(engine::StepResult result, backend_->wait(ticket));
    engine::SpanResult& made = result.spans.at(0);
    if (made.error) return *made.error;
    for (size_t i = begin; i < end && i + 1 < prompt.prompt_size; ++i) {
      outputs.scores.push_back(made.scores.at(i - begin));
    }
    outputs.logits.insert(outputs.logits.end(), made.logits.begin(), made.logits.end());
    return {};
  }

  std::unique_ptr<engine::Backend> backend_;
  kv::Region region_;
  std::vector<kv::PageId> pages_;
  uint64_t steps_ = 0;
};

/// Distances to the reference.
struct Distances {
  double max = 0.0;
  double sum = 0.0;
  size_t count = 0;

  void add(double ours, double theirs) {
    const double distance = std::fabs(ours - theirs);
    // A NaN has to be the largest.
    max = distance <= max ? max : distance;
    sum += distance;
    ++count;
  }
  [[nodiscard]] double mean() const { return count == 0 ? 0.0 : sum / static_cast<double>(count); }
};

struct Comparison {
  Distances logits;
  Distances logprobs;
  std::string greedy_fault;
};

double logprob(const float* logits, size_t vocab, size_t token) {
  const double highest = *std::max_element(logits, logits + vocab);
  double sum = 0.0;
  for (size_t v = 0; v < vocab; ++v) sum += std::exp(double{logits[v]} - highest);
  return double{logits[token]} - highest - std::log(sum);
}

Comparison compare(const Prompt& prompt, const Json& entry, const Outputs& outputs, size_t vocab) {
  Comparison made;
  for (const Json& pair : entry.at("last_logits_top20")) {
    made.logits.add(outputs.logits.at(pair.at(0).get<size_t>()), pair.at(1).get<double>());
  }
  for (const Json& one : entry.value("logprobs", Json::array())) {
    made.logprobs.add(outputs.scores.at(one.at("pos").get<size_t>()),
                      one.at("logprob").get<double>());
  }
  for (size_t i = 0; i < prompt.greedy.size(); ++i) {
    const float* logits = &outputs.logits.at(i * vocab);
    const auto wanted = static_cast<size_t>(prompt.greedy[i]);
    made.logprobs.add(logprob(logits, vocab, wanted), entry.at("greedy_logprob").at(i));
    const auto drawn = static_cast<size_t>(std::max_element(logits, logits + vocab) - logits);
    if (drawn != wanted && entry.at("greedy_margin").at(i) >= clear_margin &&
        made.greedy_fault.empty()) {
      made.greedy_fault = concat("greedy token ", i, " is ", drawn, ", not ", wanted,
                                 ", at a margin of ", entry["greedy_margin"][i].get<double>());
    }
  }
  if (entry.contains("prompt_nll_sum") && !outputs.scores.empty()) {
    const double sum = std::accumulate(outputs.scores.begin(), outputs.scores.end(), 0.0);
    const auto count = static_cast<double>(outputs.scores.size());
    made.logprobs.add(-sum / count, entry["prompt_nll_sum"].get<double>() / count);
  }
  return made;
}

std::string fault_of(const Comparison& c, bool exact, bool has_experts) {
  if (exact) {
    if (!(c.logits.max <= exact_tolerance)) return concat("a logit differs by ", c.logits.max);
    if (!(c.logprobs.max <= exact_tolerance)) {
      return concat("a log-probability differs by ", c.logprobs.max);
    }
    return c.greedy_fault;
  }
  const FastBounds& bounds = has_experts ? fast_bounds_with_experts : fast_bounds;
  if (!(c.logprobs.mean() <= bounds.mean_max) || !(c.logprobs.max <= bounds.max)) {
    return concat("log-probabilities differ by ", c.logprobs.mean(), " in the mean and ",
                  c.logprobs.max, " at most");
  }
  return {};
}

Result<Prompt> read_prompt(const Json& entry, size_t vocab) {
  Prompt prompt;
  prompt.tokens = entry.at("ids").get<std::vector<int32_t>>();
  prompt.greedy = entry.at("greedy").get<std::vector<int32_t>>();
  prompt.prompt_size = prompt.tokens.size();
  if (prompt.tokens.empty() || prompt.greedy.empty()) {
    return error(Code::corrupt, "the reference has no ids or no greedy tokens");
  }
  prompt.tokens.insert(prompt.tokens.end(), prompt.greedy.begin(), prompt.greedy.end() - 1);
  for (const int32_t id : prompt.tokens) {
    if (id < 0 || static_cast<size_t>(id) >= vocab) {
      return error(Code::corrupt, concat("the reference has the id ", id, ", the model ", vocab));
    }
  }
  return prompt;
}

Status check_prompt(Runner& runner, const Json& entry, bool exact, bool has_experts,
                    CaseResult& result) {
  TROUPE_ASSIGN(const Prompt prompt, read_prompt(entry, runner.vocab()));
  TROUPE_ASSIGN(const Outputs outputs, runner.run(prompt, span_sizes[0]));
  const Comparison compared = compare(prompt, entry, outputs, runner.vocab());
  result.max_abs_diff = std::max(exact ? compared.logits.max : 0.0, compared.logprobs.max);
  result.mean_abs_diff = compared.logprobs.mean();
  result.why = fault_of(compared, exact, has_experts);
  for (size_t i = 1; i < std::size(span_sizes) && result.why.empty(); ++i) {
    TROUPE_ASSIGN(const Outputs again, runner.run(prompt, span_sizes[i]));
    if (again != outputs) {
      result.why =
          concat("spans of ", span_sizes[i], " give other bits than spans of ", span_sizes[0]);
    }
  }
  if (!result.why.empty()) result.outcome = Outcome::failed;
  return {};
}

uint32_t longest(const Json& reference) {
  size_t tokens = 1;
  for (const Json& entry : reference.at("prompts")) {
    tokens = std::max(tokens, entry.at("ids").size() + entry.at("greedy").size());
  }
  return static_cast<uint32_t>(tokens);
}

}  // namespace

void check_reference(const std::shared_ptr<const model::Model>& model, const std::string& name,
                     const Json& reference, const ReferenceOptions& options, Report& report) {
  const std::string mode = options.exact ? "exact" : "fast";
  auto runner = Runner::make(model, options.exact, longest(reference));
  if (!runner) {
    report.add(name, concat(name, "/", mode), Outcome::failed, runner.error().message());
    return;
  }
  int number = 0;
  for (const Json& entry : reference.at("prompts")) {
    CaseResult result;
    result.group = name;
    result.id = concat(name, "/prompt ", number++, "/", mode);
    const Status status =
        check_prompt(*runner, entry, options.exact, model->config.experts.count > 0, result);
    if (!status) {
      result.outcome = Outcome::failed;
      result.why = status.error().message();
    }
    report.cases.push_back(std::move(result));
  }
}

void check_reference_file(const std::string& path, const std::string& name,
                          const std::function<Result<std::shared_ptr<const model::Model>>()>& load,
                          const ReferenceOptions& options, Report& report) {
  std::ifstream in(path);
  const auto reference = nlohmann::json::parse(in, nullptr, false);
  if (!reference.is_object() || !reference.contains("prompts")) {
    report.add(name, name, Outcome::failed, "the reference is no JSON object with prompts");
    return;
  }
  const auto model = load();
  if (!model) {
    report.add(name, name, Outcome::failed, model.error().message());
    return;
  }
  try {
    check_reference(*model, name, reference, options, report);
  } catch (const std::exception& failure) {
    report.add(name, name, Outcome::failed,
               concat("the reference has another form: ", failure.what()));
  }
}

}  // namespace troupe::check
