#include "tests/sim/expected.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "engine/engine.hpp"
#include "kv/events.hpp"
#include "tests/text/small_tokenizer.hpp"
#include "text/output_text.hpp"

namespace troupe::sim {
namespace {

std::vector<int32_t> prompt_of(const actors::GenerateRequest& request) {
  if (!request.text) return request.token_ids;
  text::EncodeOptions options;
  options.add_special = true;
  return tokenizer()->encode(*request.text, options).value();
}

uint32_t memory_tokens = 0;
std::vector<uint32_t> windows;

template <class T>
bool is_prefix(const T& part, const T& whole) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

}  // namespace

std::shared_ptr<const text::Tokenizer> tokenizer() {
  static const auto made = *text::Tokenizer::make(text::small_spec());
  return made;
}

engine::SimOptions device_options() {
  engine::SimOptions options;
  options.vocab_size = static_cast<uint32_t>(tokenizer()->size());
  options.context_max = context_max;
  options.memory_tokens = memory_tokens;
  options.windows = windows;
  options.clock = [] { return TimeUs{0}; };
  return options;
}

void set_memory_tokens(uint32_t count) {
  memory_tokens = count;
}

void set_windows(std::vector<uint32_t> of_groups) {
  windows = std::move(of_groups);
}

struct PlainRun::Parts {
  Parts(size_t pages, const actors::GenerateRequest& request)
      : backend(device_options()),
        pool(kv::allocate_region(pages * backend.kv_layout().num_groups() *
                                 backend.kv_layout().block_bytes())
                 .value(),
             backend.kv_layout()),
        index(pool, events),
        engine((attach(), backend), pool, index, limits()),
        text(tokenizer(), text_options(request)) {}

  void attach() { (void)backend.attach_pool(pool.region()); }
  [[nodiscard]] engine::EngineLimits limits() const {
    engine::EngineLimits whole;
    whole.chunk_tokens = whole.step_tokens_max = backend.capabilities().step_tokens_max;
    whole.draft_tokens_max = 0;
    return whole;
  }
  static text::OutputText::Options text_options(const actors::GenerateRequest& request) {
    text::OutputText::Options options;
    options.stops = request.stop;
    return options;
  }

  engine::SimBackend backend;
  kv::Pool pool;
  kv::EventLog events;
  kv::LocalIndex index;
  engine::Engine engine;
  text::OutputText text;
};

PlainRun::PlainRun(const actors::GenerateRequest& request, uint64_t seed, uint32_t choice) {
  engine::SequenceSpec spec;
  spec.tokens = prompt_of(request);
  spec.num_prompt_tokens = static_cast<uint32_t>(spec.tokens.size());
  spec.sampling = request.sampling;
  spec.sampling.seed = seed;
  spec.sampling.choice = choice;
  const auto& stop_ids = tokenizer()->stop_ids();
  spec.sampling.stop_ids.insert(spec.sampling.stop_ids.end(), stop_ids.begin(), stop_ids.end());
  spec.drafts = false;
  parts_ =
      std::make_unique<Parts>((spec.tokens.size() + spec.sampling.max_tokens) / 64 + 2, request);
  answer_.choice = choice;
  (void)parts_->engine.add(std::move(spec));
}

PlainRun::~PlainRun() = default;

const actors::ChoiceResult& PlainRun::up_to(size_t tokens, size_t text_bytes) {
  while (answer_.finish_reason.empty() && parts_->engine.has_work() &&
         (answer_.token_ids.size() < tokens || answer_.text.size() < text_bytes)) {
    step();
  }
  return answer_;
}

void PlainRun::step() {
  auto ticket = parts_->backend.submit(parts_->engine.plan());
  const engine::Outcome outcome = parts_->engine.accept(*parts_->backend.wait(*ticket));
  for (const engine::Delta& delta : outcome.deltas) {
    for (size_t i = 0; i < delta.draws.size() && answer_.finish_reason.empty(); ++i) {
      answer_.token_ids.push_back(delta.draws[i].token);
      answer_.logprobs.push_back(delta.draws[i].logprob);
      const bool stop_token =
          delta.finish == engine::FinishReason::stop && i + 1 == delta.draws.size();
      if (stop_token) continue;
      const auto output = parts_->text.push(delta.draws[i].token);
      answer_.text += output.text;
      if (output.stopped) answer_.finish_reason = "stop";
    }
    if (!delta.finish || !answer_.finish_reason.empty()) continue;
    const auto rest = parts_->text.flush();
    answer_.text += rest.text;
    answer_.finish_reason = rest.stopped ? "stop" : engine::name(*delta.finish);
  }
}

Watched::Watched(actors::GenerateRequest request) : request_(std::move(request)) {}

void Watched::on_delta(const actors::ClientDelta& delta) {
  if (ended_) violation = "a delta came after the end";
  if (delta.choice >= request_.choices) {
    violation = concat("a delta for choice ", delta.choice, " of ", request_.choices);
    return;
  }
  Stream& stream = streams_[delta.choice];
  stream.tokens.insert(stream.tokens.end(), delta.tokens.begin(), delta.tokens.end());
  stream.logprobs.insert(stream.logprobs.end(), delta.logprobs.begin(), delta.logprobs.end());
  stream.text += delta.text;
  if (request_.has_seed) compare(delta.choice, request_.sampling.seed);
}

PlainRun& Watched::right_of(uint32_t choice, uint64_t seed) {
  std::unique_ptr<PlainRun>& run = streams_[choice].right;
  if (!run) run = std::make_unique<PlainRun>(request_, seed, choice);
  return *run;
}

void Watched::compare(uint32_t choice, uint64_t seed) {
  Stream& stream = streams_[choice];
  const actors::ChoiceResult& right =
      right_of(choice, seed).up_to(stream.tokens.size(), stream.text.size());
  const char* what = !is_prefix(stream.tokens, right.token_ids)    ? "tokens"
                     : !is_prefix(stream.logprobs, right.logprobs) ? "log-probabilities"
                     : !is_prefix(stream.text, right.text)         ? "text"
                                                                   : nullptr;
  if (what == nullptr) return;
  violation = concat("the ", what, " of choice ", choice,
                     " are not the beginning of the right ones, after ", stream.tokens.size(),
                     " tokens of ", right.token_ids.size());
}

void Watched::on_end(const Result<actors::GenerateResult>& result) {
  if (ended_) violation = "the request ended twice";
  ended_ = true;
  ended_us_ = now_us();
  if (!result) {
    failure_ = result.error();
    return;
  }
  attempts_ = result->attempts;
  blocks_moved_ = result->blocks_moved;
  if (request_.has_seed && result->seed != request_.sampling.seed) {
    violation = "the result has another seed than the request";
  }
  if (result->choices.size() != request_.choices) {
    violation = concat("the result has ", result->choices.size(), " choices");
  }
  for (const actors::ChoiceResult& choice : result->choices) {
    compare_end(choice, result->seed);
    accepted_ += choice.accepted;
  }
}

void Watched::compare_end(const actors::ChoiceResult& result, uint64_t seed) {
  compare(result.choice, seed);
  if (!violation.empty()) return;
  const Stream& stream = streams_[result.choice];
  const actors::ChoiceResult& right = right_of(result.choice, seed).whole();
  if (result.token_ids != right.token_ids || result.logprobs != right.logprobs ||
      result.text != right.text || result.finish_reason != right.finish_reason) {
    violation = concat("choice ", result.choice, " ended with ", result.token_ids.size(),
                       " tokens (", result.finish_reason, "), right are ", right.token_ids.size(),
                       " (", right.finish_reason, ")");
  }
  if (stream.tokens != result.token_ids || stream.text != result.text) {
    violation = concat("the stream of choice ", result.choice, " is not what the result says");
  }
}

size_t Watched::num_tokens() const {
  size_t count = 0;
  for (const auto& [choice, stream] : streams_) count += stream.tokens.size();
  return count;
}

}  // namespace troupe::sim
