#include "engine/policy.hpp"

#include <doctest/doctest.h>

namespace troupe::engine {
namespace {

TEST_CASE("decoding first, then chunks, then drafts") {
  StepBudget budget(100, 64, {.decoding = 10, .prefill = true, .step = 1});
  CHECK(budget.left() == 90);
  CHECK(budget.take_prefill(1000) == 64);
  CHECK(budget.take_prefill(5) == 5);
  CHECK(budget.take_decode_spans() == 10);
  CHECK(budget.take_drafts(8) == 8);
  CHECK(budget.take_drafts(20) == 13);
  CHECK(budget.left() == 0);
  CHECK(budget.take_drafts(1) == 0);
}

TEST_CASE("a prompt gets an eighth even when more decode than fit") {
  StepBudget budget(80, 64, {.decoding = 200, .prefill = true, .step = 1});
  CHECK(budget.take_prefill(1000) == 10);
  CHECK(budget.take_decode_spans() == 70);
}

TEST_CASE("what prefill leaves of its reserve is for decoding") {
  StepBudget budget(80, 64, {.decoding = 75, .prefill = true, .step = 1});
  CHECK(budget.take_prefill(2) == 2);
  CHECK(budget.take_decode_spans() == 75);
  CHECK(budget.left() == 3);
}

TEST_CASE("a single token a step alternates") {
  for (const uint64_t step : {2u, 3u}) {
    StepBudget budget(1, 64, {.decoding = 2, .prefill = true, .step = step});
    CHECK(budget.take_prefill(9) == step % 2);
    CHECK(budget.take_decode_spans() == 1 - step % 2);
  }
}

}  // namespace
}  // namespace troupe::engine
