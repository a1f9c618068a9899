// Models whose layers see a window of the past: their pages are of several groups, of which a
// hand-over moves what the prompt's end needs.
#include "tests/support/cluster_request.hpp"
#include "tests/support/test_files.hpp"

namespace troupe::testing {
namespace {

constexpr uint32_t prompt_tokens = 330;  // of windows of 24

TEST_CASE("windows: moved, resumed after a kill, and found in a store, the text is the same") {
  std::string family;
  SUBCASE("gemma3") {
    family = "gemma3";
  }
  SUBCASE("gpt-oss") {
    family = "gpt-oss";
  }
  SUBCASE("mistral-swa, where every layer has one") {
    family = "mistral-swa";
  }
  const auto model = fixtures_dir() / "models" / family;
  if (!std::filesystem::exists(model / "model.safetensors")) {
    MESSAGE("SKIPPED: the fixtures are absent (TROUPE_FIXTURES)");
    return;
  }
  ClusterSetup setup;
  setup.model_path = model.string();
  setup.roles_more = "  - {name: store, run: [kv_store], store_memory: 64MiB}\n";
  TestCluster cluster(setup);
  cluster.up();
  Reference reference(cluster.model_path());
  auto client = cluster.client();

  const auto request = request_of(some_tokens(prompt_tokens, 3), 120);
  const auto wanted = reference.run(request);
  const auto cold = RunningRequest(*client, request).result();
  check_same(cold, wanted);
  CHECK(cold.cached_tokens == 0);
  CHECK(cold.blocks_moved > 0);
  const auto warm = RunningRequest(*client, request).result();
  check_same(warm, wanted);
  CHECK(warm.cached_tokens >= 5 * 64);

  const auto other = request_of(some_tokens(prompt_tokens, 4), 150);
  const auto wanted_other = reference.run(other);
  RunningRequest running(*client, other);
  REQUIRE(running.wait_tokens(1));
  const uint64_t before = cluster.incarnation("decode");
  cluster.kill("decode");
  check_same(running.result(), wanted_other);
  CHECK(cluster.is_back("decode", before));
  CHECK(cluster.wait_idle(20'000) == "");

  const uint64_t first = cluster.incarnation("prefill");
  cluster.kill("prefill");
  CHECK(cluster.is_back("prefill", first));
  CHECK(cluster.wait_idle(20'000) == "");
  check_same(RunningRequest(*client, request).result(), wanted);
  CHECK(cluster.wait_idle(20'000) == "");
}

}  // namespace
}  // namespace troupe::testing
