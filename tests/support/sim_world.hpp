// An engine world on a simulated device.
#pragma once

#include <random>
#include <utility>
#include <vector>

#include "engine/sim_backend.hpp"
#include "tests/support/engine_world.hpp"

namespace troupe::testing {

/// Constructed before the world that borrows it.
struct SimDevice {
  engine::SimBackend backend;
};

class SimWorld : public SimDevice, public EngineWorld {
 public:
  explicit SimWorld(engine::SimOptions options = {}, engine::EngineLimits limits = {},
                    uint32_t num_pages = 256)
      : SimDevice{engine::SimBackend(options)}, EngineWorld(backend, limits, num_pages) {}
};

inline std::vector<int32_t> sim_tokens(size_t count, uint32_t seed, int32_t vocab = 1000) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int32_t> any(0, vocab - 1);
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = any(random);
  return tokens;
}

inline engine::SequenceSpec sim_spec(std::vector<int32_t> prompt, uint32_t max_tokens,
                                     uint64_t seed = 1, float temperature = 1.0f) {
  engine::SequenceSpec spec;
  spec.num_prompt_tokens = static_cast<uint32_t>(prompt.size());
  spec.tokens = std::move(prompt);
  spec.sampling.max_tokens = max_tokens;
  spec.sampling.seed = seed;
  spec.sampling.temperature = temperature;
  return spec;
}

/// The plain run: alone, cold, whole chunks, no drafts, pages in plenty.
inline SimOutput sim_plain(engine::SequenceSpec spec, const engine::SimOptions& options = {}) {
  engine::EngineLimits limits;
  limits.chunk_tokens = limits.step_tokens_max = options.step_tokens_max;
  limits.draft_tokens_max = 0;
  const auto blocks = static_cast<uint32_t>(spec.tokens.size() + spec.sampling.max_tokens) / 64 + 2;
  const auto pages = blocks * static_cast<uint32_t>(1 + options.windows.size());
  SimWorld world(options, limits, pages);
  const engine::SequenceId id = world.add(std::move(spec));
  world.run();
  return world.outputs[id];
}

}  // namespace troupe::testing
