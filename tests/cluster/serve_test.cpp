// serve: a cluster of one process, without a manifest.
#include "tests/support/cluster_fixture.hpp"

namespace troupe::testing {
namespace {

TEST_CASE("serve: answers like any cluster, Ctrl-C ends it") {
  TestCluster cluster;
  const auto serving = cluster.start({"serve", cluster.model_path(), "--kv-memory", "32MiB"});
  REQUIRE(eventually([&] { return serving->err().find("try:") != std::string::npos; }, 30'000));
  const Json status = cluster.status();
  REQUIRE(status["processes"].size() == 1);
  CHECK(status["processes"][0]["pid"] == serving->pid());
  CHECK(status["processes"][0]["health"] == "ready");

  const std::vector<std::string> words = {"generate", "Hello there", "--max-tokens",  "30",
                                          "--seed",   "3",           "--temperature", "1"};
  const Json got = cluster.json(words);
  std::vector<std::string> embedded = words;
  embedded.insert(embedded.end(), {"--model", cluster.model_path()});
  const Json alone = cluster.json(embedded);
  for (const char* field : {"text", "token_ids", "logprobs", "finish_reason"}) {
    CHECK(got[field].dump() == alone[field].dump());
  }
  const Finished again = cluster.run({"serve", cluster.model_path(), "--kv-memory", "32MiB"});
  CHECK(again.exit_code != 0);
  CHECK(again.err.find("serve") != std::string::npos);

  SUBCASE("Ctrl-C") {
    serving->send(SIGINT);
  }
  SUBCASE("down") {
    CHECK(cluster.run({"down"}).exit_code == 0);
  }
  const Finished ended = serving->wait(8'000);
  CHECK_FALSE(ended.timed_out);
  CHECK(ended.exit_code == 0);
  CHECK(cluster.run({"status"}).exit_code != 0);
}

}  // namespace
}  // namespace troupe::testing
