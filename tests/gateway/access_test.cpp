// Keys, hosts, origins, methods, media types, tenants: decided before a body is read.
#include <filesystem>

#include "gateway/gateway.hpp"
#include "gateway/limits.hpp"
#include "tests/gateway/fake_cast.hpp"
#include "tests/gateway/strict_metrics.hpp"

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
  CHECK(own_metrics(*at.service).find("output_tokens_total{tenant=\"a\"} 5") != std::string::npos);
  REQUIRE(at.cast.requests.size() == 1);
  CHECK(at.cast.requests[0].tenant == "a");
}

TEST_CASE("stages are told by tenant and route; tenants beyond the limit are one") {
  std::string file;
  for (size_t i = 0; i < gateway::limits::tenants_told_max + 4; ++i) {
    file += concat("client-key-0123456789-", i, " tenant=t", i, "\n");
  }
  FakeService at(with_keys(file));
  for (size_t i = 0; i < gateway::limits::tenants_told_max + 4; ++i) {
    const auto headers = bearer(concat("client-key-0123456789-", i));
    CHECK(at.post("/v1/chat/completions", chat_body(), headers)->status == 200);
    CHECK(at.post("/v1/messages", messages_body(), headers)->status == 200);
  }
  const std::string page = own_metrics(*at.service);
  CHECK(StrictMetrics::mistake(page) == "");
  const auto count_of = [&](const std::string& stage, const std::string& labels) {
    const std::string line = concat("\ntroupe_gateway_", stage, "_seconds_count{", labels, "} ");
    const size_t at_line = page.find(line);
    return at_line == std::string::npos ? -1 : std::atoi(page.c_str() + at_line + line.size());
  };
  for (const char* stage : {"ttft", "itl", "queue", "prefill", "decode"}) {
    CAPTURE(std::string(stage));
    CHECK(count_of(stage, "tenant=\"t0\",route=\"messages\"") == 1);
    CHECK(count_of(stage, "tenant=\"other\",route=\"messages\"") == 4);
    CHECK(count_of(stage, "tenant=\"other\",route=\"chat_completions\"") == 4);
    CHECK(count_of(stage, "tenant=\"t19\",route=\"messages\"") == -1);
  }
  CHECK(count_of("transfer", "tenant=\"t0\",route=\"messages\"") == 0);
  CHECK(page.find("output_tokens_total{tenant=\"other\"} 40\n") != std::string::npos);
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

TEST_CASE("the metrics page is one that a strict reader takes, whatever was counted") {
  FakeService at(with_keys(good_key + " tenant=a\nanother-key-of-that-length tenant=b\n"));
  CHECK(StrictMetrics::mistake(at.get("/metrics", bearer(good_key))->body).empty());
  Json odd = chat_body();
  odd["a_field_of_tomorrow"] = 1;
  odd["Odd \"name\"\n"] = 2;
  at.post("/v1/chat/completions", odd, bearer(good_key));
  at.post("/v1/messages", messages_body(), bearer("another-key-of-that-length"));
  at.post("/v1/chat/completions", {{"model", 5}}, bearer(good_key));
  at.get("/nothing", bearer(good_key));
  const std::string page = at.get("/metrics", bearer(good_key))->body;
  CHECK(StrictMetrics::mistake(page) == "");
  for (const char* line :
       {"troupe_gateway_requests_total{route=\"chat_completions\",status=\"200\"} 1\n",
        "troupe_gateway_requests_total{route=\"chat_completions\",status=\"400\"} 1\n",
        "troupe_gateway_output_tokens_total{tenant=\"a\"} 5\n",
        "troupe_gateway_output_tokens_total{tenant=\"b\"} 5\n",
        "troupe_gateway_unknown_fields_total{field=\"a_field_of_tomorrow\"} 1\n",
        "troupe_gateway_unknown_fields_total{field=\"other\"} 1\n",
        "troupe_gateway_ttft_seconds_count{tenant=\"a\",route=\"chat_completions\"} 1\n",
        "troupe_gateway_ttft_seconds_count{tenant=\"b\",route=\"messages\"} 1\n"}) {
    CAPTURE(std::string(line));
    CHECK(page.find(line) != std::string::npos);
  }
}

TEST_CASE("the strict reader of metrics sees what promtool would") {
  const std::string head = "# HELP a_total x\n# TYPE a_total counter\n";
  const std::string histogram = "# HELP h_seconds x\n# TYPE h_seconds histogram\n";
  const std::string buckets = "h_seconds_bucket{le=\"1\"} 2\nh_seconds_bucket{le=\"+Inf\"} 3\n";
  CHECK(StrictMetrics::mistake(head + "a_total{b=\"c\\\"d\"} 1\na_total 2\n").empty());
  CHECK(
      StrictMetrics::mistake(histogram + buckets + "h_seconds_sum 1\nh_seconds_count 3\n").empty());
  for (const std::string& bad :
       {std::string(), head + "a_total 1", head + "a_total x\n", head + "a_total 1\na_total 1\n",
        head + head + "a_total 1\n", head + "b_total 1\n", head + "a_total{b=c} 1\n",
        head + "a_total{b=\"c} 1\n", head + "a_total -1\n", std::string("a 1\n"),
        std::string("# HELP a x\n# TYPE a counter\na 1\n"),
        std::string("# HELP a_ms x\n# TYPE a_ms gauge\na_ms 1\n"),
        std::string("# HELP a \n# TYPE a gauge\na 1\n"), histogram + buckets,
        histogram + buckets + "h_seconds_sum 1\nh_seconds_count 4\n",
        histogram + "h_seconds_bucket{le=\"2\"} 2\n" + buckets}) {
    CAPTURE(bad);
    CHECK_FALSE(StrictMetrics::mistake(bad).empty());
  }
}

TEST_CASE("a tenant at its limit gets 429 with the reason and the time, in its API's words") {
  FakeService at(with_keys(good_key + " tenant=a\n"));
  at.service->tenants().set("a", {2, 0, 0});
  CHECK(at.post("/v1/chat/completions", chat_body(), bearer(good_key))->status == 200);
  CHECK(at.post("/v1/messages", messages_body(), bearer(good_key))->status == 200);
  const auto openai = at.post("/v1/chat/completions", chat_body(), bearer(good_key));
  CHECK(openai->status == 429);
  CHECK(openai->header("retry-after") == "30");
  CHECK(openai->json()["error"]["code"].is_string());
  CHECK(openai->json()["error"]["message"].get<std::string>().find("minute") != std::string::npos);
  const auto anthropic = at.post("/v1/messages", messages_body(), bearer(good_key));
  CHECK(anthropic->status == 429);
  CHECK(anthropic->header("retry-after") == "30");
  CHECK(anthropic->json()["error"]["type"] == "rate_limit_error");
  // What costs nothing is not limited, and what was refused costs nothing.
  CHECK(at.get("/v1/models", bearer(good_key))->status == 200);
  CHECK(at.cast.requests.size() == 2);
}

}  // namespace
}  // namespace troupe::testing
