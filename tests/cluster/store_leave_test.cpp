// A store that leaves: the other one has its blocks.
#include "tests/support/cluster_request.hpp"

namespace troupe::testing {
namespace {

TEST_CASE("store leave: drained, or told to stop, it hands its blocks to the other store") {
  ClusterSetup setup;
  setup.prefill = false;
  setup.roles_more =
      "  - {name: store-a, run: [kv_store], store_memory: 64MiB}\n"
      "  - {name: store-b, run: [kv_store], store_memory: 64MiB}\n";
  TestCluster cluster(setup);
  cluster.up();
  Reference reference(cluster.model_path());
  const auto request = request_of(some_tokens(12'000, 51), 20);
  const auto wanted = reference.run(request);
  auto client = cluster.client();
  check_same(RunningRequest(*client, request).result(), wanted);
  constexpr uint64_t blocks = 12'000 / 64;
  const auto store = [&](const std::string& name) {
    const Json status = cluster.status();
    for (const Json& one : status["stores"]) {
      if (one["name"] == name) return one;
    }
    return Json::object({{"blocks", 0}});
  };
  REQUIRE(eventually([&] { return store("store-a")["blocks"] >= blocks; }, 20'000));
  CHECK(store("store-b")["blocks"] == 0);
  SUBCASE("drain") {
    const Json told = cluster.json({"drain", "store-a"});
    CHECK(told["drained"] == true);
    CHECK(store("store-a")["draining"] == true);
    CHECK(store("store-a")["blocks_leaving"] == 0);
  }
  SUBCASE("SIGTERM") {
    const uint64_t before = cluster.incarnation("store-a");
    REQUIRE(::kill(cluster.pid("store-a"), SIGTERM) == 0);
    CHECK(cluster.is_back("store-a", before));
  }
  const auto has_all = [&] { return store("store-b")["blocks"] >= blocks; };
  REQUIRE(eventually(has_all, 10'000));
  const uint64_t before = cluster.incarnation("decode");
  const uint64_t a_before = cluster.incarnation("store-a");
  cluster.kill("decode");
  cluster.kill("store-a");
  REQUIRE(cluster.is_back("decode", before));
  REQUIRE(cluster.is_back("store-a", a_before));
  const auto is_known = [&] { return store("store-b")["blocks_known"] >= blocks; };
  REQUIRE(eventually(is_known, 10'000));
  const auto warm = RunningRequest(*client, request).result();
  check_same(warm, wanted);
  CHECK(warm.cached_tokens == blocks * 64);
  CHECK(eventually([&] { return store("store-b")["hits"] >= blocks; }, 5'000));
  CHECK(cluster.wait_idle() == "");
}

}  // namespace
}  // namespace troupe::testing
