// A store's disk, with real processes: what was computed is read again after everything was
// stopped, and nothing that can happen to the disk or the store changes an answer.
#include <sys/stat.h>

#include <fstream>

#include "tests/support/cluster_request.hpp"
#include "tests/support/temporary_folder.hpp"

namespace troupe::testing {
namespace {

/// A cluster whose store has its disk in this folder.
ClusterSetup setup_with_disk(const std::string& path, const std::string& memory = "64MiB",
                             const std::string& disk = "256MiB") {
  ClusterSetup setup;
  setup.roles_more = "  - {name: store, run: [kv_store], store_memory: " + memory +
                     ", store_disk: " + disk + ", store_path: " + path + "}\n";
  return setup;
}

actors::GenerateRequest long_request(uint64_t seed, size_t tokens = 6000) {
  return request_of(some_tokens(tokens, seed), 40, 1.0f, seed);
}

Json store_of(TestCluster& cluster) {
  const Json stores = cluster.status()["stores"];
  return stores.size() == 1 ? stores[0] : Json::object();
}

bool has_on_disk(TestCluster& cluster, uint64_t blocks) {
  return eventually(
      [&] {
        const Json store = store_of(cluster);
        return store.value("disk_blocks", uint64_t{0}) >= blocks &&
               store.value("disk_waiting", uint64_t{1}) == 0;
      },
      20'000);
}

/// Asks until the workers have met the store: what they compute before that is not offered.
void warm_up(TestCluster& cluster, actors::Client& client) {
  uint64_t seed = 1000;
  REQUIRE(eventually(
      [&] {
        RunningRequest(client, long_request(++seed, 130)).result();
        return store_of(cluster).value("blocks", uint64_t{0}) > 0;
      },
      20'000));
}

/// The router knows what the store said when it came back.
bool is_known(TestCluster& cluster, uint64_t blocks) {
  return eventually([&] { return store_of(cluster).value("blocks_known", uint64_t{0}) >= blocks; },
                    10'000);
}

TEST_CASE("store disk: down, up, and the same prompt is read from disk, bit for bit the same") {
  TemporaryFolder folder;
  TestCluster cluster(setup_with_disk(folder.path("kv")));
  cluster.up();
  Reference reference(cluster.model_path());
  const auto request = long_request(3);
  const auto wanted = reference.run(request);
  {
    auto client = cluster.client();
    warm_up(cluster, *client);
    const auto cold = RunningRequest(*client, request).result();
    check_same(cold, wanted);
    CHECK(cold.cached_tokens == 0);
    REQUIRE(has_on_disk(cluster, 93));
    // Nobody else may use the folder, not even to look.
    const Json busy = cluster.json({"kv", "stat", folder.path("kv")}, 1);
    CHECK(busy["error"]["code"] == "failed_precondition");
    CHECK(busy["error"]["message"].get<std::string>().find("is in use by process") !=
          std::string::npos);
  }
  for (int round = 0; round < 2; ++round) {
    cluster.stop();
    const Json verified = cluster.json({"kv", "verify", folder.path("kv")});
    CHECK(verified["whole"].get<uint64_t>() >= 93);
    CHECK(verified["damaged"] == 0);
    cluster.up();
    REQUIRE(is_known(cluster, 93));
    auto client = cluster.client();
    const auto warm = RunningRequest(*client, request).result();
    check_same(warm, wanted);
    CHECK(warm.cached_tokens == 93 * 64);
    MESSAGE("first token, ms: from disk after a restart " << warm.ttft_ms);
    CHECK(eventually([&] { return store_of(cluster)["disk_read"] == 93; }, 5'000));
    CHECK(cluster.wait_idle(20'000) == "");
  }
}

TEST_CASE("store disk: what is in memory when the cluster stops is on disk when it starts") {
  TemporaryFolder folder;
  TestCluster cluster(setup_with_disk(folder.path("kv")));
  cluster.up();
  Reference reference(cluster.model_path());
  std::vector<actors::GenerateRequest> requests;
  {
    auto client = cluster.client();
    warm_up(cluster, *client);
    for (uint64_t seed = 41; seed < 45; ++seed) {
      requests.push_back(long_request(seed, 4000));
      RunningRequest(*client, requests.back()).result();
    }
  }
  // At once: whatever was not written yet is written now.
  cluster.stop();
  cluster.up();
  auto client = cluster.client();
  REQUIRE(is_known(cluster, 4 * 60));
  for (const auto& request : requests) {
    const auto warm = RunningRequest(*client, request).result();
    check_same(warm, reference.run(request));
    CHECK(warm.cached_tokens > 3000);
  }
  CHECK(cluster.wait_idle(20'000) == "");
}

TEST_CASE("store disk: tenants find their own blocks wherever they lie, and nobody else's") {
  TemporaryFolder folder;
  TestCluster cluster(setup_with_disk(folder.path("kv")));
  cluster.up();
  auto request = long_request(7, 2000);
  const auto wanted = Reference(cluster.model_path()).run(request);
  constexpr uint32_t blocks = 2000 / 64;
  auto client = cluster.client();
  const auto ask = [&](const std::string& tenant) {
    request.tenant = tenant;
    const auto result = RunningRequest(*client, request).result();
    check_same(result, wanted);
    CHECK(cluster.wait_idle(20'000) == "");
    return result.cached_tokens;
  };
  warm_up(cluster, *client);
  for (const char* tenant : {"a", "b", "default"}) {
    CAPTURE(tenant);
    CHECK(ask(tenant) == 0);
    CHECK(ask(tenant) == blocks * 64);
  }
  // Who names no tenant is one, too.
  CHECK(ask("") == blocks * 64);
  REQUIRE(has_on_disk(cluster, uint64_t{3} * blocks));

  for (const char* worker : {"prefill", "decode"}) {
    const uint64_t before = cluster.incarnation(worker);
    cluster.kill(worker);
    REQUIRE(cluster.is_back(worker, before));
  }
  REQUIRE(is_known(cluster, uint64_t{3} * blocks));
  CHECK(ask("c") == 0);
  CHECK(ask("a") == blocks * 64);

  client.reset();
  cluster.stop();
  cluster.up();
  REQUIRE(is_known(cluster, uint64_t{3} * blocks));
  client = cluster.client();
  CHECK(ask("d") == 0);
  CHECK(ask("b") == blocks * 64);
}

TEST_CASE("store disk: other weights under the same name never match") {
  TemporaryFolder folder;
  const auto request = long_request(5, 3000);
  // Nothing else tells the two clusters apart: their tenants have the same salts.
  const std::string secret = folder.path("secret");
  std::ofstream(secret) << "0123456789abcdef0123456789abcdef";
  REQUIRE(::chmod(secret.c_str(), 0600) == 0);
  const auto setup_with = [&](const std::string& model) {
    ClusterSetup setup = setup_with_disk(folder.path("kv"));
    setup.model_path = model;
    setup.more = "security: {secret_path: " + secret + "}\n";
    return setup;
  };
  {
    TestCluster cluster(setup_with(""));
    cluster.up();
    auto client = cluster.client();
    warm_up(cluster, *client);
    RunningRequest(*client, request).result();
    REQUIRE(has_on_disk(cluster, 46));
  }
  TinyLlamaOptions options = cluster_model();
  options.seed += 1;
  const std::string other = folder.path("tiny.gguf");
  make_tiny_llama(other, options);
  TestCluster cluster(setup_with(other));
  cluster.up();
  Reference reference(other);
  auto client = cluster.client();
  warm_up(cluster, *client);
  const auto got = RunningRequest(*client, request).result();
  check_same(got, reference.run(request));
  CHECK(got.cached_tokens == 0);
  // Both lie in the folder; only those of this model are told.
  CHECK(has_on_disk(cluster, 46));
  CHECK(store_of(cluster)["disk_blocks"].get<uint64_t>() < 2 * 46);
}

TEST_CASE("store disk: killed again and again while it writes under load, it tells no lie") {
  TemporaryFolder folder;
  TestCluster cluster(setup_with_disk(folder.path("kv"), "2MiB", "16MiB"));
  cluster.up();
  Reference reference(cluster.model_path());
  auto client = cluster.client();
  std::vector<actors::GenerateRequest> requests;
  std::vector<actors::GenerateResult> wanted;
  for (uint64_t seed = 61; seed < 65; ++seed) {
    requests.push_back(long_request(seed, 2500));
    wanted.push_back(reference.run(requests.back()));
  }
  for (int round = 0; round < 6; ++round) {
    const uint64_t before = cluster.incarnation("store");
    std::vector<std::unique_ptr<RunningRequest>> running;
    for (const auto& request : requests) {
      running.push_back(std::make_unique<RunningRequest>(*client, request));
    }
    ::poll(nullptr, 0, 30 + 70 * round);
    cluster.kill("store");
    for (size_t i = 0; i < requests.size(); ++i) check_same(running[i]->result(), wanted[i]);
    CHECK(cluster.is_back("store", before));
  }
  CHECK(cluster.wait_idle(30'000) == "");
  const Json store = store_of(cluster);
  CHECK(store["disk_bytes"].get<uint64_t>() <= 16u << 20);
  CHECK(store["disk_corrupt"] == 0);
  cluster.stop();
  CHECK(cluster.json({"kv", "verify", folder.path("kv")})["damaged"] == 0);
}

TEST_CASE("store disk: two stores never share a folder") {
  TemporaryFolder folder;
  const std::string path = folder.path("kv");
  SUBCASE("in one manifest the planner says so") {
    ClusterSetup setup = setup_with_disk(path);
    setup.roles_more +=
        "  - {name: other, run: [kv_store], store_disk: 1GiB, store_path: " + path + "}\n";
    TestCluster cluster(setup);
    const Finished up = cluster.run({"up", cluster.manifest().string()});
    CHECK(up.exit_code == 2);
    CHECK(up.err.find("have the same store_path") != std::string::npos);
  }
  SUBCASE("another cluster's store is refused") {
    TestCluster first(setup_with_disk(path));
    first.up();
    TestCluster second(setup_with_disk(path));
    const Finished up = second.run({"up", second.manifest().string()});
    CHECK(up.exit_code != 0);
    INFO(up.err);
    CHECK(up.err.find(path + " is in use by process " + std::to_string(first.pid("store"))) !=
          std::string::npos);
    second.run({"down"});
  }
}

TEST_CASE("store disk: blocks are exported, removed and imported again") {
  TemporaryFolder folder;
  const std::string path = folder.path("kv"), copy = folder.path("copy");
  TestCluster cluster(setup_with_disk(path));
  cluster.up();
  const auto request = long_request(8, 2000);
  auto client = cluster.client();
  warm_up(cluster, *client);
  RunningRequest(*client, request).result();
  REQUIRE(has_on_disk(cluster, 31));
  client.reset();
  cluster.stop();
  const uint64_t blocks = cluster.json({"kv", "stat", path})["blocks"].get<uint64_t>();
  const Finished exported = cluster.run({"kv", "export", path, copy, "--json"});
  CHECK(exported.exit_code == 0);
  CHECK(exported.err.find("reveal the prompts") != std::string::npos);
  CHECK(cluster.json({"kv", "export", path, copy}, 1)["error"]["code"] == "failed_precondition");
  CHECK(cluster.json({"kv", "evict", path})["blocks"] == blocks);
  CHECK(cluster.json({"kv", "ls", path})["segments"].empty());
  CHECK(cluster.json({"kv", "import", path, copy})["copied"] == blocks);
  CHECK(cluster.json({"kv", "ls", path, "--blocks"})["blocks"].size() == blocks);
  CHECK(cluster.json({"kv", "stat", folder.path("none")}, 1)["error"]["code"] == "not_found");
  cluster.up();
  REQUIRE(is_known(cluster, 31));
  client = cluster.client();
  CHECK(RunningRequest(*client, request).result().cached_tokens == 31 * 64);
}

}  // namespace
}  // namespace troupe::testing
