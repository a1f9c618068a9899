// The gateway in front of a real cast in one process, over real sockets.
#include "tests/gateway/served.hpp"

namespace troupe::testing {
namespace {

Json some_completion() {
  return {{"model", "tiny"}, {"prompt", "abcabcabc"}, {"max_tokens", 24}, {"temperature", 1},
          {"seed", 9},       {"ignore_eos", true}};
}

TEST_CASE("served: the text of HTTP is that of the client, streamed or not, alone or not") {
  Served at;
  actors::GenerateRequest request;
  request.text = "abcabcabc";
  request.sampling.max_tokens = 24;
  request.sampling.temperature = 1;
  request.sampling.seed = 9;
  request.has_seed = true;
  request.sampling.ignore_eos = true;
  auto client = actors::Client::embedded(*at.node);
  REQUIRE(client.ok());
  const auto wanted = (*client)->generate_and_wait(request);
  REQUIRE(wanted.ok());
  const std::string text = gateway::text_of(wanted->choices[0].text);

  Json body = some_completion();
  CHECK(gateway::text_of(at.json("/v1/completions", body)["choices"][0]["text"]) == text);
  body["stream"] = true;
  std::vector<RawClient> clients;
  for (int i = 0; i < 32; ++i) {
    clients.emplace_back(at.http->port());
    const std::string sent = body.dump();
    clients.back().send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                        std::to_string(sent.size()) + "\r\n\r\n" + sent);
  }
  for (RawClient& streaming : clients) {
    REQUIRE(streaming.read_until("[DONE]", 30'000));
    std::string streamed;
    const std::string& got = streaming.text();
    for (size_t from = 0; (from = got.find("data: {", from)) != std::string::npos;) {
      from += 6;
      const Json event = Json::parse(got.substr(from, got.find('\n', from) - from));
      if (!event["choices"].empty()) streamed += event["choices"][0]["text"].get<std::string>();
    }
    CHECK(gateway::text_of(streamed) == text);
  }
}

TEST_CASE("served: prompts that are too long, tokens there and back, cancelled work is gone") {
  Served at;
  Json body = some_completion();
  body["prompt"] = std::vector<int>(5000, 5);
  const Json error = at.json("/v1/completions", body)["error"];
  CHECK(error["code"] == "context_length_exceeded");
  CHECK(error["message"].get<std::string>().find("4096") != std::string::npos);

  const Json tokens = at.json("/tokenize", {{"prompt", "abc"}, {"add_special_tokens", false}});
  REQUIRE(tokens["count"].get<int>() > 0);
  CHECK(at.json("/detokenize", {{"tokens", tokens["tokens"]}})["prompt"] == "abc");
  CHECK(at.status("GET", "/v1/models/tiny", "") == 200);
  CHECK(at.status("GET", "/openapi.json", "") == 200);

  body = some_completion();
  body["max_tokens"] = 4000;
  body["stream"] = true;
  {
    RawClient client(at.http->port());
    const std::string sent = body.dump();
    client.send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                std::to_string(sent.size()) + "\r\n\r\n" + sent);
    REQUIRE(client.read_until("data: ", 20'000));
  }
  auto client = actors::Client::embedded(*at.node);
  REQUIRE(client.ok());
  CHECK(eventually(
      [&] {
        const auto view = (*client)->view(std::chrono::seconds(2));
        return view && view->bookings == 0 && view->workers.size() == 1 &&
               view->workers[0].running == 0 && view->workers[0].waiting == 0;
      },
      3'000));
}

/// The head and the body of a stream of `tokens`.
std::string stream_bytes(int tokens) {
  Json body = some_completion();
  body["max_tokens"] = tokens;
  body["stream"] = true;
  const std::string sent = body.dump();
  return "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
         std::to_string(sent.size()) + "\r\n\r\n" + sent;
}

/// Nothing runs, waits or is booked, and every block is free or kept for reuse alone.
bool is_idle(actors::Client& client) {
  const auto view = client.view(std::chrono::seconds(2));
  if (!view || view->bookings != 0 || view->workers.size() != 1) return false;
  const actors::WorkerStatus& worker = view->workers[0];
  return worker.running == 0 && worker.waiting == 0 && worker.sessions == 0 &&
         worker.blocks_free == worker.blocks_total;
}

TEST_CASE("served: a reset at any token of a stream frees what it held") {
  Served at;
  auto client = actors::Client::embedded(*at.node);
  REQUIRE(client.ok());
  for (int events = 0; events < 12; ++events) {
    RawClient peer(at.http->port());
    peer.send(stream_bytes(4000));
    size_t from = 0;
    for (int i = 0; i < events; ++i) {
      REQUIRE(peer.read_past("data: ", from, 20'000));
    }
    peer.reset();
    CAPTURE(events);
    REQUIRE(eventually([&] { return is_idle(**client); }, 5'000));
  }
}

TEST_CASE("served: who goes away in the queue or in the middle of a prompt leaves nothing") {
  Served at;
  auto client = actors::Client::embedded(*at.node);
  REQUIRE(client.ok());
  Json body = some_completion();
  body["stream"] = true;
  for (int round = 0; round < 4; ++round) {
    std::vector<RawClient> peers;
    for (int i = 0; i < 24; ++i) {
      body["prompt"] = std::vector<int>(3000, 3 + 30 * round + i);
      const std::string sent = body.dump();
      peers.emplace_back(at.http->port());
      peers.back().send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                        std::to_string(sent.size()) + "\r\n\r\n" + sent);
    }
    REQUIRE(eventually(
        [&] {
          const auto view = (*client)->view(std::chrono::seconds(2));
          return view && view->workers.size() == 1 &&
                 view->workers[0].running + view->workers[0].waiting > 0;
        },
        10'000));
    for (RawClient& peer : peers) peer.reset();
    CAPTURE(round);
    CHECK(eventually([&] { return is_idle(**client); }, 10'000));
  }
  CHECK(at.status("POST", "/v1/completions", some_completion().dump()) == 200);
}

TEST_CASE("served: who does not read holds back nobody else") {
  Served at;
  std::vector<RawClient> silent;
  for (int i = 0; i < 3; ++i) {
    silent.emplace_back(at.http->port());
    silent.back().send(stream_bytes(1000));
  }
  RawClient reading(at.http->port());
  reading.send(stream_bytes(40));
  CHECK(reading.read_until("[DONE]", 20'000));
}

TEST_CASE("served: what cache_control marks is created once, then read") {
  Served at;
  std::string system = "You are brief.";
  while (system.size() < 1000)
    system += " Answer in one word, rule " + std::to_string(system.size());
  const Json mark = {{"type", "ephemeral"}, {"ttl", "1h"}};
  const auto ask = [&](const Json& control, const std::string& question) {
    Json block = {{"type", "text"}, {"text", system}};
    if (!control.is_null()) block["cache_control"] = control;
    const Json body = {{"model", "tiny"},
                       {"max_tokens", 4},
                       {"system", Json::array({block})},
                       {"messages", Json::array({{{"role", "user"}, {"content", question}}})}};
    const Json usage = at.json("/v1/messages", body)["usage"];
    const Json counted = at.json("/v1/messages/count_tokens", body);
    CHECK(usage["input_tokens"].get<int>() + usage["cache_read_input_tokens"].get<int>() +
              usage["cache_creation_input_tokens"].get<int>() ==
          counted["input_tokens"].get<int>());
    return std::pair(usage["cache_creation_input_tokens"].get<int>(),
                     usage["cache_read_input_tokens"].get<int>());
  };
  const auto [created, read] = ask(mark, "First?");
  CHECK(created % 64 == 0);
  CHECK(created >= 4 * 64);
  CHECK(read == 0);
  CHECK(ask(mark, "Second, another one?") == std::pair(0, created));
  CHECK(ask({}, "Third?") == std::pair(0, created));
}

TEST_CASE("served: draining lets streams end and refuses what is new") {
  Served at;
  Json body = some_completion();
  body["max_tokens"] = 400;
  body["stream"] = true;
  RawClient client(at.http->port());
  const std::string sent = body.dump();
  client.send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
              std::to_string(sent.size()) + "\r\n\r\n" + sent);
  REQUIRE(client.read_until("data: ", 20'000));
  at.http->drain(1);
  CHECK(at.status("POST", "/v1/completions", some_completion().dump()) == 503);
  CHECK(at.http->drain(30'000));
  CHECK(client.read_until("[DONE]"));
}

}  // namespace
}  // namespace troupe::testing
