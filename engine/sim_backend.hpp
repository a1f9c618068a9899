// A simulated device: its draws are a function of the tokens whose KV it finds in the pages that a
// plan names, so a wrong page, a lost block or a reused slot changes the result or is reported.
// It costs next to nothing, may answer late, and serves contexts of 262,144 tokens.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "engine/backend.hpp"
#include "engine/sim_slots.hpp"

namespace troupe::engine {

struct SimOptions {
  uint32_t vocab_size = 1000;
  uint32_t context_max = 262144;
  uint32_t step_tokens_max = 2048;
  /// The logits depend on this many newest tokens, 0: on all of them. A small number gives text
  /// that repeats itself. What is read and verified does not change.
  uint32_t memory_tokens = 0;
  /// The logits' spread: at temperature 1 larger is more certain.
  float logit_scale = 4.0f;
  /// Slots verified before a span: all of the history (true) or its newest block only.
  bool verify_all = true;

  uint32_t polls_until_done = 0;  ///< how often poll() says no
  int64_t us_per_step = 0, us_per_token = 0;
  /// With a clock of the caller's own, wait() never blocks: it takes the time as passed.
  std::function<TimeUs()> clock{};

  /// Windows of further layer groups, whose pages hold the same slots: a missing or wrong one
  /// shows.
  std::vector<uint32_t> windows{};

  int32_t failing_token = -1;  ///< a span that holds this token gets an error, as for a NaN
  uint64_t failing_step = 0;   ///< submit() refuses the plan with this number
};

/// The layout of each of its layer groups: 1 layer, 1 head of dimension 8, f32. One group, and one
/// more for each window.
kv::KvLayout sim_layout(uint32_t tokens_per_block = 64, const std::vector<uint32_t>& windows = {});

class SimBackend final : public Backend {
 public:
  explicit SimBackend(SimOptions options);

  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] const kv::KvLayout& kv_layout() const override { return layout_; }
  Status attach_pool(kv::Region region) override;
  Result<Ticket> submit(StepPlan plan) override;
  [[nodiscard]] bool poll(Ticket ticket) override;
  /// Computes here, so that what a plan borrows really must live until now.
  Result<StepResult> wait(Ticket ticket) override;

 private:
  struct Job {
    uint64_t ticket;
    StepPlan plan;
    TimeUs due_us;
    uint32_t polls_left;
  };

  /// What precedes a token, as far as the draws depend on it.
  struct Past {
    uint64_t chain = 0;
    std::deque<int32_t> recent;  ///< the newest memory_tokens, oldest first

    void remember(int32_t token, uint32_t memory_tokens);
    [[nodiscard]] uint64_t state() const;
  };

  [[nodiscard]] TimeUs now() const { return options_.clock ? options_.clock() : now_us(); }
  StepResult compute(const StepPlan& plan);
  SpanResult compute(const Span& span);
  Result<SpanResult> run(const Span& span);
  Result<Past> read_past(const Span& span) const;
  Status check(const Span& span) const;
  Status check_pages(const Span& span) const;
  /// The windows that precede the span hold what group 0 does.
  Status check_windows(const Span& span) const;

  SimOptions options_;
  Capabilities capabilities_;
  kv::KvLayout layout_;
  std::optional<SimSlots> slots_;
  std::vector<Job> jobs_;  ///< oldest first
  uint64_t last_ticket_ = 0;
};

}  // namespace troupe::engine
