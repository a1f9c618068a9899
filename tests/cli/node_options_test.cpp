// What the manifest limits reaches the node.
#include "cli/node_options.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("every limit of the manifest that a node acts on reaches it") {
  launch::NodeStart start;
  auto& limits = *start.spec.mutable_limits();
  limits.set_running_max(3);
  limits.set_waiting_max(4);
  limits.set_chunk_tokens(5);
  limits.set_step_tokens_max(6);
  limits.set_draft_tokens_max(7);
  limits.set_output_tokens_max(8);
  limits.set_request_timeout_ms(9);
  limits.set_lease_ms(10);
  limits.set_connect_timeout_ms(11);
  limits.set_drain_timeout_ms(12);
  start.spec.mutable_transport()->set_page_lease_ms(13);
  const auto options = cli::node_options(start);
  REQUIRE(options.ok());
  CHECK(options->worker.limits.running_max == 3);
  CHECK(options->worker.limits.waiting_max == 4);
  CHECK(options->worker.limits.chunk_tokens == 5);
  CHECK(options->worker.limits.step_tokens_max == 6);
  CHECK(options->worker.limits.draft_tokens_max == 7);
  CHECK(options->limits.output_tokens_max == 8);
  CHECK(options->limits.request_timeout_ms == 9);
  CHECK(options->limits.lease_ms == 10);
  CHECK(options->limits.connect_timeout_ms == 11);
  CHECK(options->limits.drain_timeout_ms == 12);
  CHECK(options->limits.page_lease_ms == 13);
}
