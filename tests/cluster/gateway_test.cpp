// A gateway as a role of its own: what HTTP says is what the cluster says; it knows whether a token
// could be produced now.
#include "tests/gateway/http_client.hpp"
#include "tests/gateway/strict_metrics.hpp"
#include "tests/support/cluster_fixture.hpp"
#include "tests/support/loopback.hpp"

namespace troupe::testing {
namespace {

Json body_of(const std::string& reply) {
  return Json::parse(reply.substr(reply.find("\r\n\r\n") + 4), nullptr, false);
}

TEST_CASE("gateway: the cluster's own text; ready only as long as a worker could answer") {
  const uint16_t port = free_port();
  REQUIRE(port != 0);
  ClusterSetup setup;
  setup.roles_more =
      "  - {name: door, run: [gateway], listen: \"127.0.0.1:" + std::to_string(port) + "\"}\n";
  TestCluster cluster(setup);
  cluster.up();
  REQUIRE(eventually([&] { return is_status(asked(port, "GET", "/health/ready"), 200); }, 10'000));

  std::vector<int32_t> tokens = some_tokens(200, 3);
  auto request = request_of(tokens, 30);
  const auto wanted = cluster.client()->generate_and_wait(request);
  REQUIRE(wanted.ok());
  const Json body = {{"model", "m"},       {"prompt", tokens}, {"max_tokens", 30},
                     {"temperature", 1.0}, {"seed", 7},        {"ignore_eos", true}};
  const Json got = body_of(asked(port, "POST", "/v1/completions", body.dump()));
  REQUIRE(got.contains("choices"));
  CHECK(got["choices"][0]["text"] == wanted->choices[0].text);
  CHECK(got["usage"]["prompt_tokens"] == 200);
  CHECK(got["usage"]["completion_tokens"] == 30);
  CHECK(is_status(asked(port, "POST", "/v1/completions", R"({"model": "none", "prompt": "a"})"),
                  404));

  const pid_t decode = cluster.pid("decode");
  REQUIRE(::kill(decode, SIGSTOP) == 0);
  CHECK(eventually([&] { return is_status(asked(port, "GET", "/health/ready"), 503); }, 8'000));
  CHECK(is_status(asked(port, "GET", "/health/live"), 200));
  REQUIRE(::kill(decode, SIGCONT) == 0);
  CHECK(eventually([&] { return is_status(asked(port, "GET", "/health/ready"), 200); }, 10'000));
}

TEST_CASE("gateway: its metrics are those of the whole cluster; no log has a prompt or a key") {
  const uint16_t port = free_port();
  REQUIRE(port != 0);
  const std::string key = "a-key-that-nobody-should-read";
  ClusterSetup setup;
  setup.environment = {{"TROUPE_API_KEY", key}, {"TROUPE_LOG", "debug"}};
  TestCluster cluster(setup);
  const auto serving =
      cluster.start({"serve", cluster.model_path(), "--kv-memory", "32MiB", "--model-name", "m",
                     "--listen", "127.0.0.1:" + std::to_string(port)});
  const auto ask = [&](const std::string& method, const std::string& path, const Json& body = {}) {
    RawClient client(port);
    const std::string text = body.is_null() ? std::string() : body.dump();
    client.send(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
                "x-api-key: " + key + "\r\nContent-Length: " + std::to_string(text.size()) +
                "\r\n\r\n" + text);
    client.read_to_end(60'000);
    return client.text();
  };
  REQUIRE(eventually([&] { return serving->err().find("HTTP at") != std::string::npos; }, 30'000));
  REQUIRE(eventually([&] { return is_status(ask("GET", "/health/ready"), 200); }, 10'000));
  const std::string secret = "the-words-of-the-prompt";
  Json body = {{"model", "m"}, {"prompt", secret}, {"max_tokens", 5}, {"ignore_eos", true}};
  CHECK(is_status(ask("POST", "/v1/completions", body), 200));
  body["stop"] = secret;
  CHECK(is_status(ask("POST", "/v1/completions", body), 200));
  body["temperature"] = secret;
  CHECK(is_status(ask("POST", "/v1/completions", body), 400));
  body = {{"model", "m"}, {"prompt", std::string(200'000, 'x') + secret}};
  CHECK(is_status(ask("POST", "/v1/completions", body), 400));
  std::string page;
  CHECK(eventually(
      [&] {
        page = ask("GET", "/metrics");
        return page.find("troupe_decode_tokens_total{node=\"all\"} 10\n") != std::string::npos;
      },
      5'000));
  CHECK(StrictMetrics::mistake(page.substr(page.find("\r\n\r\n") + 4)) == "");
  serving->send(SIGTERM);
  CHECK(serving->wait(40'000).exit_code == 0);
  const std::string log = serving->err();
  CHECK(log.find(" info ") != std::string::npos);
  CHECK(log.find(secret) == std::string::npos);
  CHECK(log.find(key) == std::string::npos);
}

TEST_CASE("gateway: SIGTERM lets streams end and refuses what is new") {
  const uint16_t port = free_port();
  REQUIRE(port != 0);
  TestCluster cluster;
  const auto serving =
      cluster.start({"serve", cluster.model_path(), "--kv-memory", "32MiB", "--model-name", "m",
                     "--listen", "127.0.0.1:" + std::to_string(port)});
  REQUIRE(eventually([&] { return serving->err().find("HTTP at") != std::string::npos; }, 30'000));
  REQUIRE(eventually([&] { return is_status(asked(port, "GET", "/health/ready"), 200); }, 10'000));
  const Json body = {{"model", "m"},   {"prompt", "abc"},    {"max_tokens", 6000},
                     {"stream", true}, {"ignore_eos", true}, {"seed", 1}};
  const std::string sent = body.dump();
  RawClient stream(port);
  stream.send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
              std::to_string(sent.size()) + "\r\n\r\n" + sent);
  REQUIRE(stream.read_until("data: ", 20'000));
  serving->send(SIGTERM);
  CHECK(eventually([&] { return is_status(asked(port, "GET", "/health/ready"), 503); }, 3'000));
  const std::string refused = asked(port, "POST", "/v1/completions", body.dump());
  CHECK(is_status(refused, 503));
  CHECK(refused.find("retry-after") != std::string::npos);
  CHECK(stream.text().find("[DONE]") == std::string::npos);
  CHECK(stream.read_until("[DONE]", 30'000));
  const Finished ended = serving->wait(10'000);
  CHECK_FALSE(ended.timed_out);
  CHECK(ended.exit_code == 0);
}

TEST_CASE("gateway: an address beyond loopback without keys does not start") {
  ClusterSetup setup;
  setup.roles_more = "  - {name: door, run: [gateway], listen: \"0.0.0.0:0\"}\n";
  TestCluster cluster(setup);
  const Finished up = cluster.run({"up", cluster.manifest().string()});
  CHECK(up.exit_code != 0);
  CHECK(up.err.find("without any key") != std::string::npos);
}

}  // namespace
}  // namespace troupe::testing
