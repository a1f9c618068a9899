// Blocks that another worker has are read from it instead of computed.
#include "tests/support/cluster_request.hpp"

namespace troupe::testing {
namespace {

TEST_CASE("peers: a worker reads what another one that drains has computed, over both paths") {
  ClusterSetup setup;
  setup.decodes = 2;
  setup.prefill = false;
  // A model so small computes faster than anybody reads: only many blocks are worth asking for.
  SUBCASE("shared memory") {}
  SUBCASE("tcp") {
    setup.more = "transport: {shared_memory: false}";
  }
  TestCluster cluster(setup);
  cluster.up();
  Reference reference(cluster.model_path());
  const auto request = request_of(some_tokens(12'000, 41), 30);
  const auto wanted = reference.run(request);
  auto client = cluster.client();
  const auto cold = RunningRequest(*client, request).result();
  check_same(cold, wanted);
  CHECK(cold.cached_tokens == 0);
  const std::string holder = cold.decode_worker;
  cluster.json({"drain", holder});
  const auto is_known = [&] { return cluster.worker(holder)["draining"] == true; };
  REQUIRE(eventually(is_known, 5'000));
  const auto warm = RunningRequest(*client, request).result();
  check_same(warm, wanted);
  CHECK(warm.decode_worker != holder);
  CHECK(warm.prefill_worker.empty());
  CHECK(warm.blocks_moved == 12'000 / 64);
  CHECK(warm.cached_tokens == 12'000 / 64 * 64);
  CHECK(cluster.wait_idle() == "");
  CHECK(cluster.warnings() == "");
}

}  // namespace
}  // namespace troupe::testing
