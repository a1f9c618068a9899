// Thousands of random plans of the engine on the CPU backend: random models, spans, batches,
// chunks, scarce pages (preempted and resumed sequences), shared beginnings, forks, drafts, threads
// and instruction sets. Every sequence has the tokens and the bits of its plain run: alone, cold,
// the prompt as one span, one thread, without an engine.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cpu/cpu_backend.hpp"
#include "cpu/kernel_table.hpp"
#include "model/load_checkpoint.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/cpu_sequence.hpp"
#include "tests/support/engine_world.hpp"
#include "tests/support/sim_mix.hpp"
#include "tests/support/test_files.hpp"
#include "tests/support/tiny_llama.hpp"

namespace troupe::testing {
namespace {

using engine::EngineLimits;
using engine::FinishReason;
using engine::SequenceId;
using engine::SequenceSpec;

#ifdef TROUPE_FEW_PLANS
constexpr uint32_t set_ups = 24, plans_min = 600;
#else
constexpr uint32_t set_ups = 80, plans_min = 5000;
#endif

constexpr uint32_t prompt_max = 150, output_max = 200;

struct Candidate {
  std::string name;
  std::shared_ptr<const model::Model> model;
};

/// The fixtures' checkpoints, which are BF16 and F32, and a Llama for each type that tests make.
std::vector<Candidate> candidates() {
  std::vector<Candidate> found;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(fixtures_dir() / "models", ignored)) {
    if (!std::filesystem::exists(entry.path() / "config.json")) continue;
    const auto loaded = model::load_checkpoint(entry.path().string(), {});
    REQUIRE_MESSAGE(loaded.ok(), (loaded.ok() ? "" : loaded.error().message()));
    found.push_back({entry.path().filename().string(), *loaded});
  }
  if (found.empty()) MESSAGE("SKIPPED: no checkpoints in ", (fixtures_dir() / "models").string());
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (const model::TensorType type : {model::TensorType::q4_0, model::TensorType::q4_1,
                                       model::TensorType::q8_0, model::TensorType::f16}) {
    TinyLlamaShape shape;
    shape.matrices = type;
    shape.seed = static_cast<uint32_t>(type);
    shape.head_dim = type == model::TensorType::q4_0 ? 16 : 32;
    found.push_back({std::string("llama ") + model::info(type).name, make_tiny_llama(shape)});
  }
  return found;
}

std::unique_ptr<engine::Backend> make_backend(const Candidate& candidate,
                                              const cpu::CpuOptions& options) {
  auto made = cpu::make_cpu_backend(candidate.model, options);
  if (!made.ok()) FAIL(made.error().message());
  return std::move(*made);
}

SimOutput plain_run(engine::Backend& backend, const SequenceSpec& spec) {
  SimOutput output;
  engine::TokenHistory history{spec.tokens, spec.num_prompt_tokens};
  history.tokens.resize(spec.num_prompt_tokens);
  const auto pages = pages_from(0, (prompt_max + output_max) / 64 + 1);
  const std::vector<int32_t>& stops = spec.sampling.stop_ids;
  for (size_t computed = 0; !output.finish.has_value();) {
    engine::Span span = make_span(history.tokens, computed, history.tokens.size(), pages);
    span.num_draws = 1;
    span.sampling = &spec.sampling;
    span.history = &history;
    computed = history.tokens.size();
    const engine::Draw draw = run_step(backend, {span})[0].draws.at(0);
    history.tokens.push_back(draw.token);
    output.tokens.push_back(draw.token);
    output.logprobs.push_back(draw.logprob);
    const bool stops_here = std::find(stops.begin(), stops.end(), draw.token) != stops.end();
    if (stops_here && !spec.sampling.ignore_eos) {
      output.finish = FinishReason::stop;
    } else if (output.tokens.size() == spec.sampling.max_tokens) {
      output.finish = FinishReason::length;
    }
  }
  return output;
}

/// What all set-ups together did: each of it must have happened.
struct Totals {
  uint64_t plans = 0, preemptions = 0, cached_tokens = 0, drafted = 0, accepted = 0;
  uint64_t forks = 0, resumed = 0, cancelled = 0, mixed = 0, tokens = 0;
  std::set<std::string> models, isas;
  std::set<int> threads;
};

class SetUp {
 public:
  SetUp(uint32_t seed, const Candidate& candidate, Totals& totals)
      : candidate_(candidate),
        totals_(totals),
        mix_(seed, {.vocab_size = candidate.model->config.vocab_size}),
        crowded_(seed % 5 == 1),
        long_outputs_(mix_.chance(30) || crowded_) {
    options_.mode = mix_.chance(20) ? cpu::ComputeMode::exact : cpu::ComputeMode::fast;
    options_.kv_types.keys = mix_.any({kv::KvType::f16, kv::KvType::bf16, kv::KvType::q8_0});
    options_.kv_types.values = options_.kv_types.keys;
    if (mix_.chance(30) && candidate.model->config.latent.kv_rank == 0) {
      options_.kv_types.values = mix_.any({kv::KvType::f16, kv::KvType::f32, kv::KvType::q8_0});
    }
    options_.threads = 1;
    plain_ = make_backend(candidate, options_);
    attach_poisoned_pool(*plain_, prompt_max + output_max + 64);

    options_.threads = mix_.any({1, 2, 3});
    // The scalar kernels are slow: fewer of them.
    if (mix_.chance(20)) options_.isa = cpu::Isa::scalar;
    const cpu::Isa other = mix_.any({cpu::Isa::avx2, cpu::Isa::avxvnni});
    if (mix_.chance(40) && cpu::cpu_has(other)) options_.isa = other;
    device_ = make_backend(candidate, options_);
    limits_ = {.running_max = crowded_ ? 256u : mix_.any({1u, 3u, 256u}),
               .chunk_tokens = mix_.any({1u, 5u, 16u, 64u, 100u, 256u}),
               .step_tokens_max = mix_.any({1u, 3u, 13u, 64u, 300u}),
               .draft_tokens_max = mix_.any({0u, 1u, 8u})};
    const uint32_t blocks = crowded_        ? 6
                            : long_outputs_ ? mix_.any({6u, 7u, 9u})
                                            : mix_.any({3u, 4u, 6u, 40u});
    world_ = std::make_unique<EngineWorld>(*device_, limits_,
                                           blocks * device_->kv_layout().num_groups());
    const kv::Region& region = world_->pool.region();
    std::fill_n(region.data, region.bytes, std::byte{0xff});
  }

  void run() {
    const uint32_t count = long_outputs_ ? 6 : 2 + mix_.below(7);
    for (uint32_t i = 0; i < count; ++i) add_some();
    while (step()) {
    }
    for (const auto& [id, spec] : specs_) check(id, spec);
    world_->check_all_free();
    record();
  }

 private:
  bool step() {
    const uint64_t before = world_->engine->stats().steps;
    const uint32_t running = world_->engine->stats().running;
    const bool worked = world_->step();
    totals_.plans += world_->engine->stats().steps - before;
    totals_.mixed += running > 1 ? 1 : 0;
    return worked;
  }

  /// A sequence, maybe as after a recovery, maybe with a fork of it, maybe cancelled soon.
  void add_some() {
    SequenceSpec spec = mix_.spec(prompt_max, long_outputs_ ? output_max : 12);
    if (mix_.chance(25)) {
      const SimOutput plain = plain_run(*plain_, spec);
      const uint32_t kept = mix_.below(static_cast<uint32_t>(plain.tokens.size()));
      spec.tokens.insert(spec.tokens.end(), plain.tokens.begin(), plain.tokens.begin() + kept);
      ++totals_.resumed;
    }
    const SequenceId id = world_->add(spec);
    specs_.emplace_back(id, spec);
    for (uint32_t steps = mix_.below(4); steps > 0; --steps) step();
    if (mix_.chance(30)) {
      spec.sampling.choice += 1;
      spec.tokens.resize(spec.num_prompt_tokens);
      specs_.emplace_back(world_->add(spec), spec);
      ++totals_.forks;
    }
    if (mix_.chance(10) && !world_->outputs[id].finish.has_value()) {
      world_->cancel(id);
      ++totals_.cancelled;
    }
  }

  void check(SequenceId id, const SequenceSpec& spec) {
    const SimOutput& output = world_->outputs[id];
    REQUIRE_MESSAGE(!output.error.has_value(), (output.error ? output.error->message() : ""));
    const SimOutput plain = plain_run(*plain_, spec);
    const size_t first = output.first_index, count = output.tokens.size();
    REQUIRE(first + count <= plain.tokens.size());
    for (size_t i = 0; i < count; ++i) {
      REQUIRE(output.tokens[i] == plain.tokens[first + i]);
      REQUIRE(same_bits(output.logprobs[i], plain.logprobs[first + i]));
    }
    totals_.tokens += count;
    if (world_->ended.count(id) > 0) return;
    CHECK(first + count == plain.tokens.size());
    CHECK(output.finish == plain.finish);
  }

  void record() {
    const engine::EngineStats stats = world_->engine->stats();
    totals_.preemptions += stats.preemptions;
    totals_.cached_tokens += stats.cached_tokens;
    totals_.drafted += stats.drafted;
    totals_.accepted += stats.accepted;
    totals_.models.insert(candidate_.name);
    totals_.isas.insert(cpu::name(options_.isa));
    totals_.threads.insert(options_.threads);
  }

  const Candidate& candidate_;
  Totals& totals_;
  SimMix mix_;
  bool crowded_;       ///< all run at once in the smallest pool: sequences are preempted for sure
  bool long_outputs_;  ///< that outgrow the pool together, so that sequences are preempted
  cpu::CpuOptions options_;
  EngineLimits limits_;
  std::unique_ptr<engine::Backend> plain_, device_;
  std::unique_ptr<EngineWorld> world_;
  std::vector<std::pair<SequenceId, SequenceSpec>> specs_;
};

TEST_CASE("5,000 random plans on the CPU give the bits of the plain run") {
  const std::vector<Candidate> models = candidates();
  Totals totals;
  for (uint32_t seed = 1; seed <= set_ups; ++seed) {
    const Candidate& candidate = models[seed % models.size()];
    CAPTURE(seed);
    CAPTURE(candidate.name);
    SetUp(seed, candidate, totals).run();
  }
  MESSAGE(totals.plans, " plans, ", totals.tokens, " tokens, ", totals.preemptions,
          " preemptions, ", totals.accepted, " of ", totals.drafted, " drafts accepted, ",
          totals.cached_tokens, " tokens cached");
  CHECK(totals.plans >= plans_min);
  CHECK(totals.mixed > plans_min / 10);
  CHECK(totals.models.size() == std::min<size_t>(models.size(), set_ups));
  CHECK(totals.threads == std::set<int>{1, 2, 3});
  CHECK(totals.isas.count("scalar") == 1);
  CHECK(totals.preemptions > 0);
  CHECK(totals.cached_tokens > 0);
  CHECK(totals.drafted > 0);
  CHECK(totals.forks > 0);
  CHECK(totals.resumed > 0);
  CHECK(totals.cancelled > 0);
}

}  // namespace
}  // namespace troupe::testing
