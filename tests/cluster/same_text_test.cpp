// The same request says the same everywhere: HTTP streamed and not, alone and among others, from
// one process and from a cluster, and `troupe generate`.
#include "tests/gateway/http_client.hpp"
#include "tests/support/cluster_fixture.hpp"
#include "tests/support/loopback.hpp"

namespace troupe::testing {
namespace {

struct Asked {
  std::string prompt;
  double temperature = 0;
  int64_t seed = 0;
};

const std::vector<Asked>& questions() {
  static const std::vector<Asked> all = {{"Name a river.", 0, 1},
                                         {"the the the and the", 0, 1},
                                         {"Name a river.", 0.8, 11},
                                         {"the the the and the", 0.8, 12}};
  return all;
}

Json body_of(const Asked& asked, bool stream) {
  return {{"model", "m"},
          {"messages", Json::array({{{"role", "user"}, {"content", asked.prompt}}})},
          {"max_tokens", 40},
          {"temperature", asked.temperature},
          {"seed", asked.seed},
          {"ignore_eos", true},
          {"stream", stream}};
}

RawClient send(uint16_t port, const Json& body) {
  return ask(port, "POST", "/v1/chat/completions", body.dump());
}

std::string whole_text(RawClient client) {
  CHECK(client.read_to_end(60'000));
  const std::string& got = client.text();
  const Json reply = Json::parse(got.substr(got.find("\r\n\r\n") + 4), nullptr, false);
  REQUIRE_MESSAGE(reply.contains("choices"), got);
  return reply["choices"][0]["message"]["content"];
}

std::string streamed_text(RawClient client) {
  CHECK(client.read_to_end(60'000));
  const std::string& got = client.text();
  std::string text;
  for (size_t from = 0; (from = got.find("data: {", from)) != std::string::npos;) {
    from += 6;
    const Json event = Json::parse(got.substr(from, got.find('\n', from) - from));
    if (!event["choices"].empty()) text += event["choices"][0]["delta"].value("content", "");
  }
  CHECK(got.find("[DONE]") != std::string::npos);
  return text;
}

void check_door(uint16_t port, const std::vector<std::string>& wanted) {
  REQUIRE(eventually([&] { return is_ready(port); }, 20'000));
  for (size_t i = 0; i < wanted.size(); ++i) {
    CAPTURE(i);
    CHECK(whole_text(send(port, body_of(questions()[i], false))) == wanted[i]);
    CHECK(streamed_text(send(port, body_of(questions()[i], true))) == wanted[i]);
  }
  std::vector<RawClient> crowd;
  for (size_t i = 0; i < 32; ++i) {
    crowd.push_back(send(port, body_of(questions()[i % wanted.size()], i % 8 < 4)));
  }
  for (size_t i = 0; i < crowd.size(); ++i) {
    CAPTURE(i);
    auto& client = crowd[i];
    const std::string text =
        i % 8 < 4 ? streamed_text(std::move(client)) : whole_text(std::move(client));
    CHECK(text == wanted[i % wanted.size()]);
  }
}

TEST_CASE(
    "same text: generate, HTTP whole and streamed, alone and in a crowd, process and cluster") {
  const uint16_t cluster_port = free_port();
  REQUIRE(cluster_port != 0);
  ClusterSetup setup;
  setup.roles_more =
      "  - {name: door, run: [gateway], listen: \"127.0.0.1:" + std::to_string(cluster_port) +
      "\"}\n";
  TestCluster cluster(setup);
  const auto generated = [&](const Asked& asked, std::vector<std::string> where) {
    std::vector<std::string> words = {"generate",
                                      asked.prompt,
                                      "--max-tokens",
                                      "40",
                                      "--ignore-eos",
                                      "--temperature",
                                      asked.temperature == 0 ? "0" : "0.8"};
    words.insert(words.end(), where.begin(), where.end());
    if (asked.temperature > 0) {
      words.insert(words.end(), {"--seed", std::to_string(asked.seed)});
    }
    return cluster.json(words)["text"].get<std::string>();
  };
  std::vector<std::string> wanted;
  for (const Asked& asked : questions()) {
    wanted.push_back(generated(asked, {"--model", cluster.model_path()}));
    CHECK(wanted.back().size() > 20);
  }
  CHECK(wanted[0] != wanted[2]);
  CHECK(wanted[0] != wanted[1]);

  const uint16_t port = free_port();
  REQUIRE(port != 0);
  const auto serving =
      cluster.start({"serve", cluster.model_path(), "--kv-memory", "32MiB", "--model-name", "m",
                     "--name", "alone", "--listen", "127.0.0.1:" + std::to_string(port)});
  REQUIRE(eventually([&] { return serving->err().find("HTTP at") != std::string::npos; }, 30'000));
  check_door(port, wanted);
  serving->send(SIGTERM);
  CHECK(serving->wait(40'000).exit_code == 0);

  cluster.up();
  for (size_t i = 0; i < wanted.size(); ++i) {
    CAPTURE(i);
    CHECK(generated(questions()[i], {"--cluster", "test"}) == wanted[i]);
  }
  check_door(cluster_port, wanted);
}

}  // namespace
}  // namespace troupe::testing
