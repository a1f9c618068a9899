// Connections that nothing crossed for a while still carry the next blocks.
#include "base/concat.hpp"
#include "tests/support/cluster_request.hpp"
#include "tests/support/links_run.hpp"

namespace troupe::testing {
namespace {

TEST_CASE("idle: 5 s, 60 s and 10 min without a transfer, over TCP and over shared memory") {
  TwoHosts hosts;
  REQUIRE_MESSAGE(hosts.works(), "no network namespaces here: " << hosts.why_not());
  hosts.up();
  TestCluster cluster;
  cluster.up();
  Reference reference(cluster.model_path());
  const auto far = hosts.client(1);
  const auto near = cluster.client();
  uint64_t seed = 0;
  const auto check_transfers = [&](const std::string& after) {
    CAPTURE(after);
    const auto request = request_of(some_tokens(1200, ++seed), 40);
    const auto wanted = reference.run(request);
    for (actors::Client* client : {far.get(), near.get()}) {
      const auto got = RunningRequest(*client, request).result();
      check_same(got, wanted);
      CHECK(got.blocks_moved >= 18);
      CHECK(got.attempts == 1);
      CHECK(got.transport == (client == far.get() ? "tcp" : "shared_memory"));
    }
  };
  check_transfers("start");
  for (const int idle_s : {5, 60, 600}) {
    ::poll(nullptr, 0, idle_s * 1000);
    check_transfers(concat(idle_s, " s"));
  }
  CHECK(hosts.wait_idle(2, 8'000) == "");
  CHECK(cluster.wait_idle() == "");
  hosts.down();
}

}  // namespace
}  // namespace troupe::testing
