// Random sequences that share prefixes, resume, repeat themselves and end in every way.
#pragma once

#include <random>
#include <vector>

#include "tests/support/sim_world.hpp"

namespace troupe::testing {

class SimMix {
 public:
  explicit SimMix(uint32_t seed, engine::SimOptions options) : random_(seed), options_(options) {}

  uint32_t below(uint32_t end) {
    return std::uniform_int_distribution<uint32_t>(0, end - 1)(random_);
  }
  bool chance(uint32_t percent) { return below(100) < percent; }
  template <class T>
  T any(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<uint32_t>(values.size()))];
  }

  /// A prompt of one of four families with common beginnings, and parameters of many kinds.
  engine::SequenceSpec spec(uint32_t prompt_max, uint32_t output_max) {
    const auto vocab = static_cast<int32_t>(options_.vocab_size);
    std::vector<int32_t> prompt = sim_tokens(1 + below(prompt_max), below(4), vocab);
    if (chance(50)) {
      const std::vector<int32_t> tail = sim_tokens(1 + below(40), below(1000), vocab);
      prompt.insert(prompt.end(), tail.begin(), tail.end());
      if (prompt.size() > prompt_max) prompt.resize(prompt_max);
    }
    engine::SequenceSpec spec =
        sim_spec(prompt, 1 + below(output_max), below(3), any({0.0f, 0.7f, 1.0f}));
    spec.sampling.choice = below(3);
    spec.drafts = chance(80);
    if (chance(20)) spec.sampling.presence_penalty = 0.5f;
    if (chance(20)) spec.sampling.frequency_penalty = 0.25f;
    if (chance(20)) spec.sampling.repetition_penalty = 1.2f;
    if (chance(30)) spec.sampling.stop_ids = {1, 2};
    if (chance(20)) spec.sampling.min_tokens = 1 + below(spec.sampling.max_tokens);
    if (chance(10)) spec.sampling.ignore_eos = true;
    return spec;
  }

  /// `spec` with some of its output given already, as after a recovery.
  engine::SequenceSpec resumed(engine::SequenceSpec spec) {
    const std::vector<int32_t> output = sim_plain(spec, options_).tokens;
    const uint32_t kept = below(static_cast<uint32_t>(output.size()) + 1);
    spec.tokens.insert(spec.tokens.end(), output.begin(), output.begin() + kept);
    return spec;
  }

 private:
  std::mt19937 random_;
  engine::SimOptions options_;
};

/// The plain run of `spec` without the output that it holds already; `output` must continue it, and
/// be all of it once it is finished.
inline void check_continues(const engine::SequenceSpec& spec, const SimOutput& output,
                            const engine::SimOptions& options, bool complete) {
  engine::SequenceSpec fresh = spec;
  fresh.tokens.resize(spec.num_prompt_tokens);
  const SimOutput plain = sim_plain(fresh, options);
  const size_t first = output.first_index, count = output.tokens.size();
  REQUIRE(first + count <= plain.tokens.size());
  for (size_t i = 0; i < count; ++i) {
    REQUIRE(output.tokens[i] == plain.tokens[first + i]);
    REQUIRE(output.logprobs[i] == plain.logprobs[first + i]);
  }
  if (complete) {
    CHECK(first + count == plain.tokens.size());
    CHECK(output.finish == plain.finish);
  }
}

}  // namespace troupe::testing
