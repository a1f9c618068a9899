// Blocks that come from another worker's pool.
#include <cstring>

#include "tests/support/sim_world.hpp"

namespace troupe::testing {
namespace {

using engine::SequenceId;
using engine::SequenceSpec;

/// A worker that computed the blocks of a prompt, and one that is to take them over.
struct Pair {
  SimWorld source, target;
  SequenceSpec spec = sim_spec(sim_tokens(64 * 6 + 10, 4), 30, 2);
  SimOutput plain = sim_plain(spec);
  std::vector<engine::BlockReady> ready;

  Pair() {
    SequenceSpec prefill = spec;
    prefill.prefill_only = true;
    const SequenceId id = source.add(prefill);
    source.run();
    ready = source.outputs[id].blocks;
    REQUIRE(ready.size() == 6);
  }

  void copy(uint32_t block, kv::PageId to) {
    std::memcpy(target.pool.page(to), source.pool.page(ready[block].block.page),
                target.pool.layout().block_bytes());
  }
  void deliver(SequenceId id, uint32_t block, kv::PageId page) {
    copy(block, page);
    target.engine->deliver_external(id, block);
  }
};

TEST_CASE("all blocks delivered, in any order: only the rest is computed") {
  for (const bool backwards : {false, true}) {
    Pair pair;
    SimWorld& target = pair.target;
    const SequenceId id = target.add(pair.spec);
    const auto pages = target.engine->expect_external(id, 6);
    REQUIRE(pages.size() == 6);
    for (uint32_t i = 0; i < 6; ++i) {
      CHECK_FALSE(target.engine->has_work());
      const uint32_t block = backwards ? 5 - i : i;
      pair.deliver(id, block, pages[block]);
      CHECK(target.index.find(pair.ready[block].name)->checksum ==
            pair.ready[block].block.checksum);
    }
    target.run();
    CHECK(target.outputs[id].same_text(pair.plain));
    CHECK(target.engine->stats().prefill_tokens == 10);
    target.check_all_free();
    pair.source.check_all_free();
  }
}

TEST_CASE("abandoned: the rest is computed from the first missing block on") {
  for (uint32_t missing = 0; missing < 6; ++missing) {
    CAPTURE(missing);
    Pair pair;
    SimWorld& target = pair.target;
    const SequenceId id = target.add(pair.spec);
    const auto pages = target.engine->expect_external(id, 100);
    REQUIRE(pages.size() == 6);
    for (uint32_t block = 0; block < 6; ++block) {
      if (block != missing) pair.deliver(id, block, pages[block]);
    }
    CHECK_FALSE(target.engine->has_work());
    target.engine->abandon_external(id);
    target.run();
    CHECK(target.outputs[id].same_text(pair.plain));
    // Blocks that arrived behind the gap are found when it is closed.
    CHECK(target.engine->stats().prefill_tokens <= 64 * (6 - missing) + 10);
    target.check_all_free();
  }
}

TEST_CASE("a delivery that nobody expects is ignored") {
  Pair pair;
  SimWorld& target = pair.target;
  const SequenceId id = target.add(pair.spec);
  target.engine->deliver_external(id, 0);
  target.engine->abandon_external(id);
  target.engine->deliver_external(77, 0);
  const auto pages = target.engine->expect_external(id, 2);
  REQUIRE(pages.size() == 2);
  CHECK(target.engine->expect_external(id, 3).empty());
  pair.deliver(id, 1, pages[1]);
  target.engine->deliver_external(id, 1);
  target.engine->deliver_external(id, 2);
  CHECK_FALSE(target.engine->has_work());
  pair.deliver(id, 0, pages[0]);
  CHECK(target.engine->has_work());
  target.run();
  CHECK(target.outputs[id].same_text(pair.plain));
  target.check_all_free();
}

TEST_CASE("cancelled while blocks are awaited: its pages are free at once") {
  Pair pair;
  SimWorld& target = pair.target;
  const SequenceId id = target.add(pair.spec);
  const auto pages = target.engine->expect_external(id, 6);
  pair.deliver(id, 0, pages[0]);
  CHECK(target.engine->stats().waiting == 1);
  target.cancel(id);
  target.engine->deliver_external(id, 1);
  CHECK(target.index.size() == 1);
  target.check_all_free();
}

TEST_CASE("blocks that were here already are not expected") {
  Pair pair;
  SimWorld& target = pair.target;
  const std::vector<int32_t>& prompt = pair.spec.tokens;
  target.add(sim_spec({prompt.begin(), prompt.begin() + 129}, 1));
  target.run();
  const SequenceId id = target.add(pair.spec);
  CHECK(target.engine->num_cached_blocks(id) == 2);
  const auto pages = target.engine->expect_external(id, 6);
  REQUIRE(pages.size() == 4);
  for (uint32_t block = 2; block < 6; ++block) pair.deliver(id, block, pages[block - 2]);
  target.run();
  CHECK(target.outputs[id].same_text(pair.plain));
  target.check_all_free();
}

TEST_CASE("a full pool reserves fewer pages, and a sequence behind one that waits still runs") {
  SimWorld target({}, {}, 8);
  const SequenceId holder = target.add(sim_spec(sim_tokens(64 * 5 + 1, 1), 5));
  CHECK(target.engine->expect_external(holder, 5).size() == 5);
  const SequenceId second = target.add(sim_spec(sim_tokens(64 * 5 + 1, 2), 5));
  CHECK(target.engine->expect_external(second, 5).size() == 3);
  const SequenceId third = target.add(sim_spec(sim_tokens(64 * 5 + 1, 3), 5));
  CHECK(target.engine->expect_external(third, 5).empty());
  // The third is not held back, but there is no page for it until the others let go.
  target.step();
  CHECK_FALSE(target.engine->has_work());
  CHECK_FALSE(target.outputs[third].finish.has_value());
  target.engine->abandon_external(second);
  target.engine->abandon_external(holder);
  target.run();
  for (const SequenceId id : {holder, second, third}) CHECK(target.outputs[id].tokens.size() == 5);
  target.check_all_free();
}

TEST_CASE("choices of one prompt wait for the blocks that one of them awaits") {
  Pair pair;
  SimWorld& target = pair.target;
  const SequenceId first = target.add(pair.spec);
  SequenceSpec other = pair.spec;
  other.sampling.choice = 1;
  const auto pages = target.engine->expect_external(first, 6);
  const SequenceId second = target.add(other);
  target.step();
  CHECK_FALSE(target.engine->has_work());
  for (uint32_t block = 0; block < 6; ++block) pair.deliver(first, block, pages[block]);
  target.run();
  CHECK(target.engine->stats().prefill_tokens == 20);
  CHECK(target.outputs[first].same_text(pair.plain));
  CHECK(target.outputs[second].same_text(sim_plain(other)));
  target.check_all_free();
}

TEST_CASE("damaged bytes would be noticed by the simulated device") {
  Pair pair;
  SimWorld& target = pair.target;
  const SequenceId id = target.add(pair.spec);
  const auto pages = target.engine->expect_external(id, 1);
  REQUIRE(pages.size() == 1);
  target.engine->deliver_external(id, 0);  // without a copy
  target.run();
  CHECK(target.outputs[id].finish == engine::FinishReason::failed);
  CHECK(target.outputs[id].error->code == Code::corrupt);
  target.check_all_free();
}

}  // namespace
}  // namespace troupe::testing
