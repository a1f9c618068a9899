// One engine on a device, with a loop that checks every plan and collects every outcome.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "engine/engine.hpp"
#include "kv/events.hpp"
#include "kv/local_index.hpp"
#include "kv/pool.hpp"
#include "kv/region.hpp"

namespace troupe::testing {

/// What a test saw of one sequence.
struct SimOutput {
  std::vector<int32_t> tokens;
  std::vector<float> logprobs;
  uint32_t first_index = 0;  ///< of tokens[0]; more than 0 after a resume
  uint32_t accepted_drafts = 0;
  uint32_t taken_tokens = 0;
  std::optional<engine::FinishReason> finish;
  std::optional<Error> error;
  std::vector<engine::BlockReady> blocks;

  [[nodiscard]] bool same_text(const SimOutput& other) const {
    return tokens == other.tokens && logprobs == other.logprobs && finish == other.finish;
  }
};

class EngineWorld {
 public:
  /// The device has no pool yet and must outlive this.
  EngineWorld(engine::Backend& device, engine::EngineLimits limits, uint32_t num_pages)
      : device_(device),
        limits_(limits),
        pool(kv::allocate_region(num_pages * device.kv_layout().block_bytes()).value(),
             device.kv_layout()),
        index(pool, events) {
    REQUIRE(device.attach_pool(pool.region()).ok());
    engine = std::make_unique<engine::Engine>(device, pool, index, limits);
  }

  engine::SequenceId add(engine::SequenceSpec spec) {
    const auto first = static_cast<uint32_t>(spec.tokens.size()) - spec.num_prompt_tokens;
    Result<engine::SequenceId> id = engine->add(std::move(spec));
    REQUIRE_MESSAGE(id.ok(), (id.ok() ? "" : id.error().message()));
    outputs[*id].first_index = first;
    return *id;
  }

  /// One round of the loop; false when there was nothing to do.
  bool step() {
    if (!engine->has_work()) return false;
    engine::StepPlan plan = engine->plan();
    check_plan(plan);
    if (plan.spans.empty()) {
      take(engine->accept({plan.step, {}, 0}));
      return true;
    }
    take(engine->accept(compute(std::move(plan))));
    return true;
  }

  void run() {
    for (int steps = 0; step(); ++steps) REQUIRE(steps < 100000);
  }

  engine::StepResult compute(engine::StepPlan plan) {
    Result<engine::Ticket> ticket = device_.submit(std::move(plan));
    REQUIRE(ticket.ok());
    Result<engine::StepResult> result = device_.wait(*ticket);
    REQUIRE(result.ok());
    return std::move(result).value();
  }

  void take(const engine::Outcome& outcome) {
    for (const engine::BlockReady& block : outcome.blocks) {
      SimOutput& output = at(block.sequence);
      output.blocks.push_back(block);
      CHECK(index.find(block.name)->page == block.block.page);
    }
    for (const engine::Delta& delta : outcome.deltas) {
      SimOutput& output = at(delta.sequence);
      REQUIRE(delta.first_index == output.first_index + output.tokens.size());
      for (const engine::Draw& draw : delta.draws) {
        output.tokens.push_back(draw.token);
        output.logprobs.push_back(draw.logprob);
      }
      output.accepted_drafts += delta.accepted_drafts;
      output.taken_tokens = delta.taken_tokens;
      output.finish = delta.finish;
      output.error = delta.error;
    }
  }

  void cancel(engine::SequenceId id) {
    engine->cancel(id);
    ended.insert(id);
  }
  void finish(engine::SequenceId id) {
    engine->finish(id);
    ended.insert(id);
  }

  void check_plan(const engine::StepPlan& plan) {
    CHECK(plan.num_tokens() <= limits_.step_tokens_max);
    CHECK(plan.spans.size() <= limits_.running_max);
    for (const engine::Span& span : plan.spans) {
      CHECK(span.tokens.size() <= std::max(limits_.chunk_tokens, limits_.draft_tokens_max + 1));
      CHECK(span.num_draws <= limits_.draft_tokens_max + 1);
      // Whoever writes a page owns it alone: indexed blocks are immutable.
      const size_t blocks = span.block_table.size() / engine->num_groups();
      for (size_t i = 0; i < span.block_table.size(); ++i) {
        if (i % blocks < span.first_position / 64) continue;
        CHECK(pool.references(span.block_table[i]) == 1);
      }
    }
  }

  /// Nothing is in use but blocks that only the index holds.
  void check_all_free() {
    CHECK(pool.num_free() + index.size() == pool.num_pages());
    CHECK(index.num_evictable() == index.size());
    CHECK(engine->stats().running == 0);
    CHECK(engine->stats().waiting == 0);
    CHECK_FALSE(engine->has_work());
  }

 private:
  SimOutput& at(engine::SequenceId id) {
    REQUIRE(outputs.count(id) == 1);
    REQUIRE_MESSAGE(ended.count(id) == 0, "a sequence that its owner ended was named again");
    REQUIRE_MESSAGE(!outputs[id].finish.has_value(), "a sequence was named after its end");
    return outputs[id];
  }

  engine::Backend& device_;
  engine::EngineLimits limits_;

 public:
  kv::EventLog events;
  kv::Pool pool;
  kv::LocalIndex index;
  std::unique_ptr<engine::Engine> engine;
  std::map<engine::SequenceId, SimOutput> outputs;
  std::set<engine::SequenceId> ended;
};

}  // namespace troupe::testing
