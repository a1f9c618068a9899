// A thousand random operations on one small, crowded engine: every output is right as far as it
// goes, and in the end every page is accounted for.
#include <algorithm>
#include <cstring>

#include "tests/support/sim_mix.hpp"

namespace troupe::testing {
namespace {

using engine::EngineLimits;
using engine::SequenceId;
using engine::SequenceSpec;
using engine::SimOptions;

class Crowd {
 public:
  Crowd(uint32_t seed, std::vector<uint32_t> windows, uint32_t pages)
      : options_{.vocab_size = 60, .memory_tokens = 2, .windows = std::move(windows)},
        mix_(seed, options_),
        world_(options_, limits_, pages),
        source_(options_, {}, 12000) {}

  void operate() {
    const uint32_t kind = mix_.below(100);
    if (kind < 20) {
      add();
    } else if (kind < 24) {
      end(true);
    } else if (kind < 28) {
      end(false);
    } else if (kind < 48) {
      feed_one();
    } else if (plan_.has_value()) {
      complete_step();
    } else {
      begin_step();
    }
    CHECK(world_.pool.num_free() + world_.index.num_evictable() <= world_.pool.num_pages());
  }

  void drain() {
    for (int rounds = 0; rounds < 100000; ++rounds) {
      if (plan_.has_value()) complete_step();
      if (world_.engine->has_work()) {
        begin_step();
      } else if (!awaited_.empty()) {
        feed_one();
      } else {
        return;
      }
    }
    FAIL("the engine does not come to rest");
  }

  /// Returns how often sequences were preempted.
  uint64_t check() {
    size_t completed = 0;
    for (const auto& [id, spec] : specs_) {
      const SimOutput& output = world_.outputs[id];
      const bool ended = world_.ended.count(id) > 0;
      CHECK((ended || output.finish.has_value()));
      CHECK_MESSAGE(!output.error.has_value(), (output.error ? output.error->message() : ""));
      if (spec.prefill_only) {
        const auto groups = world_.engine->num_groups();
        const auto blocks =
            std::count_if(output.blocks.begin(), output.blocks.end(),
                          [&](const auto& block) { return block.block_index % groups == 0; });
        if (!ended) CHECK(static_cast<size_t>(blocks) == spec.tokens.size() / 64);
        continue;
      }
      check_continues(spec, output, options_, !ended);
      completed += ended ? 0 : 1;
    }
    CHECK(completed > 50);
    CHECK(world_.engine->stats().accepted > 0);
    CHECK(world_.engine->stats().cached_tokens > 0);
    world_.check_all_free();
    world_.index.clear();
    CHECK(world_.pool.num_free() == world_.pool.num_pages());
    return world_.engine->stats().preemptions;
  }

 private:
  struct Awaited {
    SequenceId id;
    uint32_t block;
    kv::PageId page;
    kv::BlockName name;
  };

  void add() {
    SequenceSpec spec = mix_.spec(300, 150);
    if (mix_.chance(15)) spec = mix_.resumed(spec);
    spec.prefill_only = mix_.chance(15);
    const SequenceId id = world_.add(spec);
    specs_[id] = spec;
    if (!mix_.chance(30)) return;
    const uint32_t first = world_.engine->num_cached_blocks(id);
    const auto pages = world_.engine->expect_external(id, first + 1 + mix_.below(5));
    const std::vector<kv::BlockName> names = world_.engine->block_names(id);
    const uint32_t groups = world_.engine->num_groups();
    for (uint32_t i = 0; i < pages.size(); ++i) {
      if (pages[i] == kv::no_page) continue;
      awaited_.push_back(
          {id, first * groups + i, pages[i], kv::page_name(names[first + i / groups], i % groups)});
    }
    if (pages.empty()) return;
    spec.prefill_only = true;
    source_.add(spec);
    source_.run();
  }

  void end(bool cancel) {
    if (specs_.empty()) return;
    auto it = specs_.begin();
    std::advance(it, specs_.size() - 1 -
                         mix_.below(std::min<uint32_t>(8, static_cast<uint32_t>(specs_.size()))));
    if (world_.outputs[it->first].finish.has_value()) return;
    forget_awaited(it->first);
    if (cancel) {
      world_.cancel(it->first);
    } else {
      world_.finish(it->first);
    }
  }

  /// One awaited block arrives, or, now and then, no more of its sequence will.
  void feed_one() {
    if (awaited_.empty()) return;
    const auto it = awaited_.begin() + mix_.below(static_cast<uint32_t>(awaited_.size()));
    const Awaited block = *it;
    if (mix_.chance(15)) {
      forget_awaited(block.id);
      world_.engine->abandon_external(block.id);
      return;
    }
    awaited_.erase(it);
    const auto found = source_.index.find(block.name);
    REQUIRE(found.has_value());
    std::memcpy(world_.pool.page(block.page), source_.pool.page(found->page),
                world_.pool.layout().block_bytes());
    world_.engine->deliver_external(block.id, block.block);
  }

  void forget_awaited(SequenceId id) {
    std::erase_if(awaited_, [id](const Awaited& block) { return block.id == id; });
  }

  void begin_step() {
    if (!world_.engine->has_work()) return;
    plan_ = world_.engine->plan();
    world_.check_plan(*plan_);
  }

  void complete_step() {
    engine::StepPlan plan = std::move(*plan_);
    plan_.reset();
    world_.take(world_.engine->accept(world_.compute(std::move(plan))));
  }

  const SimOptions options_;
  const EngineLimits limits_{.running_max = 12, .chunk_tokens = 48, .step_tokens_max = 90};
  SimMix mix_;
  SimWorld world_, source_;
  std::map<SequenceId, SequenceSpec> specs_;
  std::vector<Awaited> awaited_;
  std::optional<engine::StepPlan> plan_;
};

/// Returns how often sequences were preempted.
uint64_t operate(const std::vector<uint32_t>& windows, uint32_t pages, uint32_t seeds) {
  uint64_t preemptions = 0;
  for (uint32_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    Crowd crowd(seed, windows, pages);
    for (int i = 0; i < 1000; ++i) crowd.operate();
    crowd.drain();
    preemptions += crowd.check();
  }
  return preemptions;
}

TEST_CASE("random operations leave right outputs and no page behind") {
  CHECK(operate({}, 14, 4) > 0);
}

TEST_CASE("the same where layer groups let pages go that left their windows") {
  uint64_t preemptions = 0;
  preemptions += operate({1}, 18, 2);
  preemptions += operate({64}, 18, 2);
  preemptions += operate({100, 40}, 24, 2);
  preemptions += operate({129, 65, 3}, 28, 3);
  CHECK(preemptions > 0);
}

}  // namespace
}  // namespace troupe::testing
