// Keys, hosts, origins, methods, media types, tenants: decided before a body is read.
#include <filesystem>

#include "gateway/gateway.hpp"
#include "tests/gateway/fake_cast.hpp"

namespace troupe::testing {
namespace {

const std::string good_key = "a-key-of-more-than-sixteen";

gateway::AccessRules with_keys(const std::string& file) {
  gateway::AccessRules rules;
  const auto added = rules.keys.add_file(file, "keys");
  REQUIRE(added.ok());
  return rules;
}

gateway::Headers bearer(const std::string& key) {
  return {{"authorization", "Bearer " + key}};
}

TEST_CASE("with keys everything but /health/live needs one") {
  FakeService at(with_keys(good_key + "\n"));
  CHECK(at.get("/health/live")->status == 200);
  for (const char* path :
       {"/health/ready", "/metrics", "/v1/models", "/nothing", "/openapi.json"}) {
    const auto got = at.get(path);
    CHECK(got->status == 401);
    CHECK(got->header("www-authenticate") == "Bearer");
    CHECK(at.get(path, bearer("another-key-of-that-length"))->status == 401);
  }
  CHECK(at.post("/v1/chat/completions", chat_body())->status == 401);
  CHECK(at.get("/v1/models", bearer(good_key))->status == 200);
  CHECK(at.get("/v1/models", {{"x-api-key", good_key}})->status == 200);
  CHECK(at.get("/nothing", bearer(good_key))->status == 404);
  CHECK(at.post("/v1/messages", messages_body(), {{"x-api-key", good_key}})->status == 200);
}

TEST_CASE("metrics need the role observer, generations the role client") {
  FakeService at(
      with_keys("observer-key-0123456789 role=observer\n"
                "client-key-0123456789 tenant=a role=client # a comment\n"));
  CHECK(at.get("/metrics", bearer("observer-key-0123456789"))->status == 200);
  CHECK(at.get("/metrics", bearer("client-key-0123456789"))->status == 403);
  CHECK(at.post("/v1/chat/completions", chat_body(), bearer("observer-key-0123456789"))->status ==
        403);
  CHECK(at.post("/v1/chat/completions", chat_body(), bearer("client-key-0123456789"))->status ==
        200);
  CHECK(at.service->counts().page().find("output_tokens_total{tenant=\"a\"} 5") !=
        std::string::npos);
}

TEST_CASE("key files: digests, comments, and errors with their line") {
  gateway::KeyTable keys;
  REQUIRE(keys.add_file("# keys\n\nsha256:" + hex(sha256(good_key)) + " tenant=t\n", "k").ok());
  REQUIRE(keys.find(good_key) != nullptr);
  CHECK(keys.find(good_key)->tenant == "t");
  CHECK(keys.find(good_key + "x") == nullptr);
  CHECK(keys.find("") == nullptr);
  for (const std::string bad : {"short", "a-long-enough-key role=king", "a-long-enough-key what",
                                "sha256:00ff", "a-long-enough-key tenant=none"}) {
    const auto added = keys.add_file("# one\n" + bad + "\n", "file", {"t"});
    REQUIRE_FALSE(added.ok());
    CHECK(added.error().what.starts_with("file:2: "));
    CHECK(added.error().message().find("a-long-enough-key") == std::string::npos);
  }
  const std::string drawn = gateway::new_key();
  CHECK(drawn.size() == 67);
  CHECK(drawn != gateway::new_key());
}

TEST_CASE("without a key only loopback is listened on, and only for names of loopback") {
  gateway::KeyTable none;
  gateway::KeyTable one;
  REQUIRE(one.add(good_key).ok());
  CHECK(gateway::check_listen("127.0.0.1", none).ok());
  CHECK(gateway::check_listen("::1", none).ok());
  CHECK_FALSE(gateway::check_listen("0.0.0.0", none).ok());
  CHECK_FALSE(gateway::check_listen("192.168.1.5", none).ok());
  CHECK(gateway::check_listen("0.0.0.0", one).ok());

  FakeService at;
  const auto host_status = [&](const std::string& host) {
    gateway::HttpRequest request;
    request.method = "GET";
    request.path = "/v1/models";
    request.headers = {{"host", host}};
    return at.ask(std::move(request))->status;
  };
  for (const char* host : {"localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:8080"}) {
    CHECK(host_status(host) == 200);
  }
  for (const char* host : {"evil.example", "evil.example:8080", "127.0.0.1.evil.example", ""}) {
    CHECK(host_status(host) == 403);
  }
}

TEST_CASE("pages of other origins are not answered; those that are allowed get their headers") {
  gateway::AccessRules rules;
  rules.allowed_origins = {"https://good.example"};
  FakeService at(std::move(rules));
  const gateway::Headers good = {{"origin", "https://good.example"}};
  const gateway::Headers evil = {{"origin", "https://evil.example"}};
  CHECK(at.get("/v1/models", evil)->status == 403);
  const auto got = at.get("/v1/models", good);
  CHECK(got->status == 200);
  CHECK(got->header("access-control-allow-origin") == "https://good.example");
  gateway::HttpRequest preflight;
  preflight.method = "OPTIONS";
  preflight.path = "/v1/chat/completions";
  preflight.headers = {{"host", "localhost"}, {"origin", "https://good.example"}};
  const auto asked = at.ask(preflight);
  CHECK(asked->status == 204);
  CHECK(asked->header("access-control-allow-headers").find("authorization") != std::string::npos);
}

TEST_CASE("methods and media types") {
  FakeService at;
  const auto got = at.get("/v1/chat/completions");
  CHECK(got->status == 405);
  CHECK(got->header("allow") == "POST");
  CHECK(at.post("/v1/models", chat_body())->header("allow") == "GET, HEAD");
  const auto posted = [&](gateway::Headers headers) {
    gateway::HttpRequest request;
    request.method = "POST";
    request.path = "/v1/chat/completions";
    request.body = chat_body().dump();
    request.headers = std::move(headers);
    request.headers.emplace_back("host", "localhost");
    return at.ask(std::move(request))->status;
  };
  CHECK(posted({{"content-type", "application/json; charset=utf-8"}}) == 200);
  CHECK(posted({}) == 200);
  CHECK(posted({{"content-type", "text/plain"}}) == 415);
  CHECK(posted({{"content-type", "application/json"}, {"content-encoding", "gzip"}}) == 415);
}

TEST_CASE("tenants: requests and tokens a minute, requests at once") {
  gateway::Tenants tenants;
  tenants.set("t", {60, 100, 2});
  TimeUs now = 1'000'000;
  CHECK_FALSE(tenants.begin("t", now));
  CHECK_FALSE(tenants.begin("t", now));
  const auto third = tenants.begin("t", now);
  REQUIRE(third);
  CHECK(third->status == 429);
  CHECK(third->message.find("running") != std::string::npos);
  tenants.end("t", 150, now);
  const auto spent = tenants.begin("t", now);
  REQUIRE(spent);
  CHECK(spent->message.find("tokens a minute") != std::string::npos);
  CHECK(spent->retry_after_s >= 30);
  now += 31'000'000;
  CHECK_FALSE(tenants.begin("t", now));
  CHECK_FALSE(tenants.begin("other", now));
  gateway::Tenants few;
  few.set("t", {2, 0, 0});
  CHECK_FALSE(few.begin("t", now));
  CHECK_FALSE(few.begin("t", now));
  CHECK(few.begin("t", now)->retry_after_s == 30);
  CHECK_FALSE(few.begin("t", now + 30'000'000));
}

TEST_CASE("a draining service refuses new work and says that it is not ready") {
  FakeService at;
  at.cast.unready = "no decode worker is there";
  CHECK(at.get("/health/ready")->json()["reason"] == "no decode worker is there");
  at.cast.unready = "";
  CHECK(at.get("/health/ready")->status == 200);
  at.service->begin_drain();
  CHECK(at.post("/v1/chat/completions", chat_body())->status == 503);
  CHECK(at.get("/health/ready")->status == 503);
  CHECK(at.get("/health/live")->status == 200);
}

TEST_CASE("addresses to listen on") {
  gateway::ServerOptions options;
  REQUIRE(gateway::parse_listen("127.0.0.1:8080", options).ok());
  CHECK(options.address == "127.0.0.1");
  CHECK(options.port == 8080);
  REQUIRE(gateway::parse_listen("[::1]:81", options).ok());
  CHECK(options.address == "::1");
  REQUIRE(gateway::parse_listen("9000", options).ok());
  CHECK(options.port == 9000);
  for (const char* bad : {"", "a:b", "127.0.0.1:", "1.2.3.4:70000", "::1:80", ":80"}) {
    CHECK_FALSE(gateway::parse_listen(bad, options).ok());
  }
}

TEST_CASE("the metrics page: each family once, with its type, counters end in _total") {
  FakeService at;
  at.post("/v1/chat/completions", chat_body());
  at.get("/v1/models");
  const std::string page = at.get("/metrics")->body;
  std::map<std::string, std::string> types;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) {
      std::istringstream words(line.substr(7));
      std::string family;
      std::string type;
      words >> family >> type;
      CHECK(types.emplace(family, type).second);
      if (type == "counter") CHECK(family.ends_with("_total"));
    } else if (!line.starts_with("#")) {
      std::string family = line.substr(0, line.find_first_of("{ "));
      for (const std::string suffix : {"_bucket", "_sum", "_count"}) {
        const std::string base =
            family.substr(0, family.size() - std::min(family.size(), suffix.size()));
        if (family.ends_with(suffix) && types.contains(base)) family = base;
      }
      INFO(line);
      CHECK(types.contains(family));
    }
  }
  CHECK(page.find("troupe_gateway_requests_total{route=\"chat_completions\",status=\"200\"} 1") !=
        std::string::npos);
  CHECK(page.find("troupe_gateway_ttft_seconds_count 1") != std::string::npos);
}

}  // namespace
}  // namespace troupe::testing
