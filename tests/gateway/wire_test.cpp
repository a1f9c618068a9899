// What browsers, curl and proxies do on the wire, in front of the real service over real sockets.
#include "tests/gateway/fake_cast.hpp"
#include "tests/gateway/http_client.hpp"
#include "tests/support/cluster_program.hpp"

namespace troupe::testing {
namespace {

const std::string host = "Host: localhost\r\n";
const std::string good_key = "a-key-of-more-than-sixteen";

/// A service with a fake cast behind a server of its own.
struct Site {
  explicit Site(gateway::AccessRules rules = {}) : fake(std::move(rules)) {
    auto started = gateway::HttpServer::start({}, gateway::handler_of(fake.service));
    REQUIRE(started.ok());
    server = std::move(*started);
  }

  RawClient client() const { return RawClient(server->port()); }
  /// The one reply to `bytes` on a connection of its own.
  std::string ask(const std::string& bytes) const {
    RawClient one = client();
    one.send(bytes);
    return one.take_reply();
  }

  FakeService fake;
  std::unique_ptr<gateway::HttpServer> server;
};

int status_of(const std::string& reply) {
  return reply.size() < 12 ? 0 : std::atoi(reply.c_str() + 9);
}

std::string header_of(const std::string& reply, const std::string& name) {
  const size_t at = reply.find("\r\n" + name + ": ");
  if (at == std::string::npos || at > reply.find("\r\n\r\n")) return {};
  const size_t from = at + name.size() + 4;
  return reply.substr(from, reply.find("\r\n", from) - from);
}

std::string body_of(const std::string& reply) {
  return reply.substr(reply.find("\r\n\r\n") + 4);
}

std::string post(const std::string& path, const std::string& body, const std::string& more = {}) {
  return "POST " + path + " HTTP/1.1\r\n" + host + more +
         "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

const std::string chat_path = "/v1/chat/completions";

TEST_CASE("wire: a page of an allowed origin asks first, then posts, then streams") {
  gateway::AccessRules rules;
  rules.allowed_origins = {"https://good.example"};
  SUBCASE("without keys") {}
  SUBCASE("with keys, which a preflight never has") {
    REQUIRE(rules.keys.add(good_key).ok());
  }
  const Site at(std::move(rules));
  const std::string origin = "Origin: https://good.example\r\n";
  const std::string key = "Authorization: Bearer " + good_key + "\r\n";
  RawClient page = at.client();
  page.send("OPTIONS " + chat_path + " HTTP/1.1\r\n" + host + origin +
            "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: "
            "authorization,content-type,x-stainless-lang\r\n\r\n");
  const std::string preflight = page.take_reply();
  CHECK(status_of(preflight) == 204);
  CHECK(body_of(preflight).empty());
  CHECK(header_of(preflight, "content-length").empty());
  CHECK(header_of(preflight, "access-control-allow-origin") == "https://good.example");
  CHECK(header_of(preflight, "access-control-allow-methods").find("POST") != std::string::npos);
  CHECK(header_of(preflight, "access-control-allow-headers") ==
        "authorization,content-type,x-stainless-lang");
  page.send(post(chat_path, chat_body().dump(), origin + key));
  const std::string whole = page.take_reply();
  CHECK(status_of(whole) == 200);
  CHECK(header_of(whole, "access-control-allow-origin") == "https://good.example");
  CHECK(header_of(whole, "vary") == "origin");
  CHECK(header_of(whole, "access-control-expose-headers").find("retry-after") != std::string::npos);
  gateway::Json body = chat_body();
  body["stream"] = true;
  page.send(post(chat_path, body.dump(), origin + key));
  REQUIRE(page.read_until("[DONE]"));
  CHECK(header_of(page.text(), "access-control-allow-origin") == "https://good.example");
}

TEST_CASE("wire: pages of other origins and other names of this host get nothing") {
  gateway::AccessRules rules;
  rules.allowed_origins = {"https://good.example"};
  rules.allowed_hosts = {"llm.example"};
  const Site at(std::move(rules));
  const auto get = [&](const std::string& headers) {
    return at.ask("GET /v1/models HTTP/1.1\r\n" + headers + "\r\n");
  };
  for (const char* origin : {"https://evil.example", "https://good.example.evil.example",
                             "http://good.example", "null", "https://good.example:8443"}) {
    CAPTURE(std::string(origin));
    const std::string reply = get(host + "Origin: " + origin + "\r\n");
    CHECK(status_of(reply) == 403);
    CHECK(header_of(reply, "access-control-allow-origin").empty());
    const std::string preflight =
        at.ask("OPTIONS " + chat_path + " HTTP/1.1\r\n" + host + "Origin: " + origin + "\r\n\r\n");
    CHECK(status_of(preflight) == 403);
    CHECK(header_of(preflight, "access-control-allow-origin").empty());
  }
  for (const char* name :
       {"localhost:9", "127.0.0.1", "[::1]:80", "llm.example", "LLM.EXAMPLE:1"}) {
    CAPTURE(std::string(name));
    CHECK(status_of(get("Host: " + std::string(name) + "\r\n")) == 200);
  }
  for (const char* name :
       {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", ""}) {
    CAPTURE(std::string(name));
    CHECK(status_of(get("Host: " + std::string(name) + "\r\n")) == 403);
  }
  CHECK(status_of(get("")) == 403);
  CHECK(status_of(get(host + "Host: evil.example\r\n")) == 400);
  CHECK(status_of(get("Host: evil.example\r\n" + host)) == 400);
}

TEST_CASE("wire: bodies in another coding than plain are refused before they are read") {
  const Site at;
  const std::string gzipped("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\xae\x05\x00", 14);
  for (const char* coding : {"gzip", "GZIP", "deflate", "br", "zstd", "gzip, identity"}) {
    CAPTURE(std::string(coding));
    RawClient client = at.client();
    client.send(post(chat_path, gzipped, "Content-Encoding: " + std::string(coding) + "\r\n"));
    REQUIRE(client.read_to_end());
    CHECK(status_of(client.text()) == 415);
    CHECK(gateway::Json::parse(body_of(client.text()))["error"]["code"] ==
          "unsupported_media_type");
  }
  CHECK(status_of(at.ask(post(chat_path, chat_body().dump(), "Content-Encoding: identity\r\n"))) ==
        200);
  RawClient transfer = at.client();
  transfer.send("POST " + chat_path + " HTTP/1.1\r\n" + host +
                "Transfer-Encoding: gzip, chunked\r\n\r\n" + gzipped);
  CHECK(transfer.read_to_end());
  CHECK(status_of(transfer.text()) == 415);
  CHECK(at.fake.cast.requests.size() == 1);
}

TEST_CASE("wire: an upload in chunks of any size is the same request") {
  Site at;
  gateway::Json body = chat_body();
  body["messages"][0]["content"] = "日本 é 😀";
  const std::string bytes = body.dump();
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{7}, bytes.size()}) {
    std::string sent = "POST " + chat_path + " HTTP/1.1\r\n" + host +
                       "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (size_t from = 0; from < bytes.size(); from += piece) {
      const std::string part = bytes.substr(from, piece);
      char size[32];
      std::snprintf(size, sizeof size, "%zx;name=\"value\"\r\n", part.size());
      sent += size + part + "\r\n";
    }
    sent += "0\r\nTrailer-Field: x\r\n\r\n";
    RawClient client = at.client();
    for (size_t from = 0; from < sent.size(); from += 97) client.send(sent.substr(from, 97));
    CHECK(status_of(client.take_reply()) == 200);
    REQUIRE(!at.fake.cast.requests.empty());
    CHECK(at.fake.cast.requests.back().chat_json.find("日本 é 😀") != std::string::npos);
    client.send("GET /health/live HTTP/1.1\r\n" + host + "\r\n");
    CHECK(status_of(client.take_reply()) == 200);
  }
  CHECK(at.fake.cast.requests.size() == 4);
}

TEST_CASE("wire: HEAD is GET without its body, OPTIONS says what there is") {
  const Site at;
  for (const char* path : {"/health/live", "/health/ready", "/v1/models", "/v1/models/m",
                           "/metrics", "/openapi.json", "/nothing"}) {
    CAPTURE(std::string(path));
    const std::string got = at.ask("GET " + std::string(path) + " HTTP/1.1\r\n" + host + "\r\n");
    RawClient client = at.client();
    client.send("HEAD " + std::string(path) + " HTTP/1.1\r\n" + host + "\r\n" +
                "GET /health/live HTTP/1.1\r\n" + host + "\r\n");
    REQUIRE(client.read_until("\"live\""));
    const std::string head = client.text().substr(0, client.text().find("\r\n\r\n") + 4);
    CHECK(status_of(head) == status_of(got));
    // The page of metrics counts the request before it, too.
    if (std::string(path) != "/metrics") {
      CHECK(header_of(head, "content-length") == header_of(got, "content-length"));
    }
    CHECK(client.text().substr(head.size()).starts_with("HTTP/1.1 200"));
  }
  const std::string wrong =
      at.ask("HEAD " + chat_path + " HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n");
  CHECK(status_of(wrong) == 405);
  CHECK(header_of(wrong, "allow") == "POST");
  for (const char* path : {"*", "/v1/models"}) {
    const std::string reply =
        at.ask("OPTIONS " + std::string(path) + " HTTP/1.1\r\n" + host + "\r\n");
    CHECK(status_of(reply) == 204);
    CHECK(header_of(reply, "allow").find("HEAD") != std::string::npos);
  }
}

TEST_CASE("wire: pipelined requests of all kinds are answered whole and in their order") {
  const Site at;
  gateway::Json streamed = chat_body();
  streamed["stream"] = true;
  gateway::Json wrong = chat_body();
  wrong["temperature"] = -1;
  const std::string one = post(chat_path, streamed.dump()) + post(chat_path, wrong.dump()) +
                          "GET /v1/models HTTP/1.1\r\n" + host + "\r\n" +
                          post("/v1/messages", messages_body().dump()) +
                          "GET /nothing HTTP/1.1\r\n" + host + "\r\n";
  RawClient client = at.client();
  constexpr int times = 20;
  std::string all;
  for (int i = 0; i < times; ++i) all += one;
  client.send(all);
  size_t from = 0;
  for (int i = 0; i < times; ++i) {
    for (const char* mark : {"[DONE]\n\n\r\n0\r\n\r\nHTTP/1.1 400", "\"temperature\"",
                             "\"object\":\"list\"", "\"type\":\"message\"", "HTTP/1.1 404"}) {
      CAPTURE(std::string(mark));
      REQUIRE(client.read_past(mark, from));
    }
  }
  CHECK(at.fake.cast.requests.size() == 2 * times);
}

TEST_CASE("wire: 100-continue is said to who may go on, and to nobody else") {
  gateway::AccessRules rules;
  REQUIRE(rules.keys.add(good_key).ok());
  const Site at(std::move(rules));
  const std::string key = "x-api-key: " + good_key + "\r\n";
  const std::string body = chat_body().dump();
  const auto head = [&](const std::string& path, const std::string& more) {
    return "POST " + path + " HTTP/1.1\r\n" + host + more +
           "Expect: 100-continue\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  };
  RawClient client = at.client();
  client.send(head(chat_path, key));
  REQUIRE(client.read_until("HTTP/1.1 100 Continue\r\n\r\n"));
  CHECK(at.fake.cast.requests.empty());
  client.send(body);
  REQUIRE(client.read_until("HTTP/1.1 200"));
  const std::vector<std::pair<std::string, int>> refused = {
      {head(chat_path, ""), 401},
      {head("/nothing", key), 404},
      {head("/v1/models", key), 405},
      {head(chat_path, key + "Content-Encoding: gzip\r\n"), 415},
      {head(chat_path, key + "Content-Type: text/plain\r\n"), 415}};
  for (const auto& one : refused) {
    CAPTURE(one.second);
    RawClient other = at.client();
    other.send(one.first);
    REQUIRE(other.read_to_end());
    CHECK(status_of(other.text()) == one.second);
  }
}

}  // namespace
}  // namespace troupe::testing
