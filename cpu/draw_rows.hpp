// What a step gives back: logits for the tokens that are drawn or scored, in groups so that a long
// scored span never holds all its logits at once, then samplers over the threads.
#pragma once

#include <vector>

#include "base/thread_pool.hpp"
#include "cpu/forward.hpp"
#include "cpu/sampler.hpp"
#include "engine/step_plan.hpp"

namespace troupe::cpu {

class DrawRows {
 public:
  /// All must outlive it.
  DrawRows(Forward& forward, const KernelTable& kernels, uint32_t vocab_size, ThreadPool& pool);

  /// Fills result.spans (already sized) from the batch that `forward` ran for `plan`.
  void run(const engine::StepPlan& plan, engine::StepResult& result);

 private:
  struct Row {
    uint32_t span = 0;
    uint32_t offset = 0;       ///< token of the span
    uint32_t batch_token = 0;  ///< token of the batch
  };

  void finish(const engine::StepPlan& plan, const Row& row, float* logits, Sampler& sampler,
              engine::StepResult& result, std::vector<std::optional<Error>>& errors, size_t at);

  Forward& forward_;
  uint32_t vocab_size_;
  ThreadPool& pool_;
  std::vector<Sampler> samplers_;  ///< per thread
};

}  // namespace troupe::cpu
