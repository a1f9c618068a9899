// From a manifest to an answer: three processes give what one process gives, over each transport.
#include "tests/support/cluster_fixture.hpp"
#include "tests/support/test_files.hpp"

namespace troupe::testing {
namespace {

const char* const long_prompt =
    "Tell me about a bear who lived in a forest and wanted to find the best honey of the land, and "
    "walked day after day across hills, rivers and valleys to find it. Say what he met on his way, "
    "how it ended for him and what his friends in the forest said when he came home in the autumn "
    "with nothing but a story. Then say what the story was, and why nobody believed a word of it.";

std::vector<std::string> generate(const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"generate", long_prompt, "--max-tokens",  "24",
                                    "--seed",   "11",        "--temperature", "1"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void check_equal_output(const Json& got, const Json& wanted) {
  for (const char* field : {"text", "token_ids", "logprobs", "finish_reason", "seed",
                            "prompt_tokens", "output_tokens"}) {
    INFO("field: ", field);
    CHECK(got[field].dump() == wanted[field].dump());
  }
}

void check_moved(const Json& got, const char* transport) {
  CHECK(got["transport"] == transport);
  CHECK(got["blocks_moved"].get<int>() > 0);
  CHECK(got["bytes_moved"].get<uint64_t>() >= 64u * 1024);
  CHECK(got["prefill_worker"] == "prefill");
  CHECK(got["decode_worker"] == "decode");
  CHECK(got["attempts"] == 1);
  CHECK(got["ttft_ms"].get<double>() > 0);
}

void check_status_shape(const Json& status) {
  CHECK(status["phase"] == "ready");
  REQUIRE(status["processes"].size() == 3);
  std::set<std::string> names;
  for (const Json& process : status["processes"]) {
    names.insert(process["name"]);
    CHECK(process["roles"].is_array());
    CHECK(process["pid"].get<int>() > 1);
    CHECK(process["incarnation"] == 1);
    CHECK(process["health"] == "ready");
  }
  CHECK(names == std::set<std::string>{"head", "prefill", "decode"});
  REQUIRE(status["workers"].size() == 2);
  for (const Json& worker : status["workers"]) {
    CHECK(worker["blocks_total"].get<int>() > 0);
    CHECK(worker["blocks_free"] == worker["blocks_total"]);
    CHECK(worker["running"] == 0);
  }
}

TEST_CASE("start: a cluster of SmolLM2 answers what one process answers, over shared memory") {
  const auto path = smollm2_path();
  if (!std::filesystem::exists(path)) {
    MESSAGE("SKIPPED: no model at " << path.string());
    return;
  }
  ClusterSetup setup;
  setup.model_path = std::filesystem::absolute(path).string();
  setup.kv_memory = "128MiB";
  TestCluster cluster(setup);
  cluster.up();
  check_status_shape(cluster.status());
  const Json got = cluster.json(generate());
  check_moved(got, "shared_memory");
  const Json alone = cluster.json(generate({"--model", setup.model_path, "--threads", "1"}));
  CHECK(alone["transport"] == "none");
  check_equal_output(got, alone);
  CHECK(cluster.wait_idle() == "");
  cluster.down();
}

TEST_CASE("start: TCP forced by the manifest or by UCX_TLS gives the same bits") {
  SUBCASE("the manifest says so") {
    ClusterSetup setup;
    setup.more = "transport: {shared_memory: false}";
    TestCluster cluster(setup);
    cluster.up();
    const Json got = cluster.json(generate());
    check_moved(got, "tcp");
    check_equal_output(got, cluster.json(generate({"--model", cluster.model_path()})));
    CHECK(cluster.wait_idle() == "");
  }
  SUBCASE("the environment says so") {
    ClusterSetup setup;
    setup.environment = {{"UCX_TLS", "tcp,self"}};
    TestCluster cluster(setup);
    cluster.up();
    const Json got = cluster.json(generate());
    check_moved(got, "tcp");
    check_equal_output(got, cluster.json(generate({"--model", cluster.model_path()})));
    CHECK(cluster.wait_idle() == "");
  }
}

}  // namespace
}  // namespace troupe::testing
