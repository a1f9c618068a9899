// OpenAI's APIs on a fake cast: what SDKs enforce.
#include <thread>

#include "gateway/limits.hpp"
#include "tests/gateway/fake_cast.hpp"

namespace troupe::testing {
namespace {

TEST_CASE("chat: one object with text, usage and finish reason") {
  FakeService at;
  const auto got = at.post("/v1/chat/completions", chat_body());
  REQUIRE(got->status == 200);
  const Json body = got->json();
  CHECK(body["object"] == "chat.completion");
  CHECK(body["id"].get<std::string>().starts_with("chatcmpl-"));
  CHECK(body["model"] == "m");
  REQUIRE(body["choices"].size() == 1);
  const Json& choice = body["choices"][0];
  CHECK(choice["message"]["role"] == "assistant");
  CHECK(choice["message"]["content"] == "Hello");
  CHECK(choice["finish_reason"] == "stop");
  CHECK(choice["logprobs"].is_null());
  CHECK(body["usage"]["prompt_tokens"] == 100);
  CHECK(body["usage"]["completion_tokens"] == 5);
  CHECK(body["usage"]["total_tokens"] == 105);
  CHECK(body["usage"]["prompt_tokens_details"]["cached_tokens"] == 64);
  CHECK(got->header("x-request-id").starts_with("req_"));
  REQUIRE(at.cast.requests.size() == 1);
  CHECK(Json::parse(at.cast.requests[0].chat_json)["messages"][0]["content"] == "Hi");
  CHECK(at.cast.requests[0].sampling.max_tokens == 500);
  CHECK(at.cast.requests[0].sampling.temperature == 1.0f);
}

TEST_CASE("usage: tokens of thinking are counted where the model has marks for them") {
  const std::pair<std::vector<std::string>, int> cases[] = {
      {{"Hello"}, 0},
      {{"\x01hm\x02", "Hello"}, 4},
      {{"hm", "\x02Hello"}, 3},  // the prompt began it
      {{"\x01hm, ", "no end"}, 11},
      {{"\x01\x02", "a\x01"}, 2}};
  for (const auto& [pieces, tokens] : cases) {
    CAPTURE(pieces[0]);
    FakeService at;
    at.cast.pieces = pieces;
    Json body = chat_body();
    body["n"] = 2;
    const Json usage = at.post("/v1/chat/completions", body)->json()["usage"];
    CHECK(usage["completion_tokens_details"]["reasoning_tokens"] == 2 * tokens);
    const Json response =
        at.post("/v1/responses", {{"model", "m"}, {"input", "Hi"}})->json()["usage"];
    CHECK(response["output_tokens_details"]["reasoning_tokens"] == tokens);
  }
}

TEST_CASE("chat stream: role first, ids and times constant, usage only when asked, [DONE] last") {
  FakeService at;
  Json body = chat_body();
  body["stream"] = true;
  SUBCASE("without usage") {}
  SUBCASE("with usage") {
    body["stream_options"] = {{"include_usage", true}};
  }
  const bool wants_usage = body.contains("stream_options");
  const auto got = at.post("/v1/chat/completions", body);
  REQUIRE(got->is_stream);
  CHECK(got->is_over);
  std::vector<Json> events = got->events();
  REQUIRE(events.size() == (wants_usage ? 6 : 5));
  CHECK(events.back() == "[DONE]");
  events.pop_back();
  std::string text;
  for (const Json& event : events) {
    CHECK(event["object"] == "chat.completion.chunk");
    CHECK(event["id"] == events[0]["id"]);
    CHECK(event["created"] == events[0]["created"]);
    CHECK(event.contains("usage") == wants_usage);
    if (!event["choices"].empty()) {
      CHECK(event["choices"][0]["index"] == 0);
      text += event["choices"][0]["delta"].value("content", "");
    }
  }
  CHECK(text == "Hello");
  CHECK(events[0]["choices"][0]["delta"]["role"] == "assistant");
  CHECK_FALSE(events[1]["choices"][0]["delta"].contains("role"));
  CHECK(events[3]["choices"][0]["finish_reason"] == "stop");
  CHECK(events[3]["choices"][0]["delta"].empty());
  if (wants_usage) {
    CHECK(events[4]["choices"].empty());
    CHECK(events[4]["usage"]["completion_tokens"] == 5);
    CHECK(events[3]["usage"].is_null());
  }
}

TEST_CASE("chat: several choices, each with its own index; usage counts them all") {
  FakeService at;
  Json body = chat_body();
  body["n"] = 3;
  const Json whole = at.post("/v1/chat/completions", body)->json();
  REQUIRE(whole["choices"].size() == 3);
  for (int i = 0; i < 3; ++i) CHECK(whole["choices"][static_cast<size_t>(i)]["index"] == i);
  CHECK(whole["usage"]["completion_tokens"] == 15);
  CHECK(whole["usage"]["prompt_tokens"] == 100);
  body["stream"] = true;
  std::map<int, std::string> texts;
  std::map<int, int> roles;
  for (const Json& event : at.post("/v1/chat/completions", body)->events()) {
    if (event == "[DONE]") continue;
    const Json& choice = event["choices"][0];
    texts[choice["index"].get<int>()] += choice["delta"].value("content", "");
    roles[choice["index"].get<int>()] += choice["delta"].contains("role") ? 1 : 0;
  }
  CHECK(texts == std::map<int, std::string>{{0, "Hello"}, {1, "Hello"}, {2, "Hello"}});
  CHECK(roles == std::map<int, int>{{0, 1}, {1, 1}, {2, 1}});
}

TEST_CASE("chat: logprobs name each token's bytes, whole and streamed alike") {
  FakeService at;
  at.cast.pieces = {"", "\xE2\x82\xAC", "x"};
  Json body = chat_body();
  body["logprobs"] = true;
  body["top_logprobs"] = 2;
  const Json whole = at.post("/v1/chat/completions", body)->json();
  const Json& content = whole["choices"][0]["logprobs"]["content"];
  REQUIRE(content.size() == 4);
  CHECK(content[0]["bytes"] == Json::array({0xE2}));
  CHECK(content[3]["token"] == "x");
  CHECK(content[3]["logprob"] == -0.5);
  REQUIRE(content[3]["top_logprobs"].size() == 2);
  CHECK(content[3]["top_logprobs"][1]["token"] == "A");
  body["stream"] = true;
  Json streamed = Json::array();
  for (const Json& event : at.post("/v1/chat/completions", body)->events()) {
    if (event == "[DONE]" || event["choices"][0]["logprobs"].is_null()) continue;
    for (const Json& token : event["choices"][0]["logprobs"]["content"]) streamed.push_back(token);
  }
  CHECK(streamed == content);
}

TEST_CASE("completions: several prompts and echo; logprobs are four lists") {
  FakeService at;
  Json body = {{"model", "m"}, {"prompt", Json::array({"ab", "cd"})}, {"n", 2}, {"echo", true}};
  const Json whole = at.post("/v1/completions", body)->json();
  CHECK(whole["object"] == "text_completion");
  REQUIRE(whole["choices"].size() == 4);
  CHECK(whole["choices"][0]["text"] == "abHello");
  CHECK(whole["choices"][3]["text"] == "cdHello");
  CHECK(whole["choices"][3]["index"] == 3);
  CHECK(whole["usage"]["prompt_tokens"] == 200);
  CHECK(at.cast.requests[0].sampling.max_tokens == 16);
  body = {{"model", "m"}, {"prompt", Json::array({72, 105})}, {"logprobs", 1}};
  const Json one = at.post("/v1/completions", body)->json();
  const Json& logprobs = one["choices"][0]["logprobs"];
  CHECK(logprobs["tokens"] == Json::array({"H", "e", "l", "l", "o"}));
  CHECK(logprobs["text_offset"] == Json::array({0, 1, 2, 3, 4}));
  CHECK(at.cast.requests.back().token_ids == std::vector<int32_t>{72, 105});
}

TEST_CASE("responses: sequence numbers without holes, constant ids, completed last") {
  FakeService at;
  Json body = {{"model", "m"}, {"input", "Hi"}, {"instructions", "Be brief"}, {"stream", true}};
  const auto events = at.post("/v1/responses", body)->events();
  REQUIRE(events.size() == 10);
  for (size_t i = 0; i < events.size(); ++i) CHECK(events[i]["sequence_number"] == i);
  CHECK(events[0]["type"] == "response.created");
  CHECK(events.back()["type"] == "response.completed");
  CHECK(events.back()["response"]["id"] == events[0]["response"]["id"]);
  CHECK(events.back()["response"]["output"][0]["content"][0]["text"] == "Hello");
  CHECK(events.back()["response"]["usage"]["total_tokens"] == 105);
  CHECK(events.back()["response"]["instructions"] == "Be brief");
  const Json chat = Json::parse(at.cast.requests[0].chat_json);
  CHECK(chat["messages"][0]["role"] == "system");
  at.cast.finish = "length";
  body["stream"] = false;
  const Json whole = at.post("/v1/responses", body)->json();
  CHECK(whole["status"] == "incomplete");
  CHECK(whole["incomplete_details"]["reason"] == "max_output_tokens");
}

TEST_CASE("a failure before the first token is a status, one behind it an event") {
  FakeService at;
  Json body = chat_body();
  body["stream"] = true;
  at.cast.failure = error(Code::invalid_argument,
                          "the prompt has 1200 tokens, the context holds 1000", "at most 999");
  const auto early = at.post("/v1/chat/completions", body);
  CHECK(early->status == 400);
  CHECK(early->json()["error"]["code"] == "context_length_exceeded");
  const std::string why = early->json()["error"]["message"];
  CHECK(why.starts_with("this model's maximum context length is"));
  CHECK(why.find("1200") != std::string::npos);
  const Json other = at.post("/v1/messages", messages_body())->json();
  CHECK(other["error"]["message"].get<std::string>().starts_with("prompt is too long: "));
  at.cast.failure.reset();
  at.cast.holds = true;
  const auto late = at.post("/v1/chat/completions", body);
  actors::ClientDelta delta;
  delta.text = "He";
  delta.tokens = {1, 2};
  delta.logprobs = {0, 0};
  at.cast.handlers.back().on_delta(delta);
  at.cast.handlers.back().on_end(error(Code::unavailable, "the cluster is going down"));
  CHECK(late->status == 200);
  const auto events = late->events();
  CHECK(events[events.size() - 2]["error"]["type"] == "server_error");
  CHECK(late->is_over);
}

TEST_CASE("a peer that goes away cancels everything that its request runs") {
  FakeService at;
  at.cast.holds = true;
  Json body = {{"model", "m"}, {"prompt", Json::array({"a", "b"})}};
  const auto got = at.post("/v1/completions", body);
  REQUIRE(got->when_gone);
  got->when_gone();
  CHECK(at.cast.cancelled == std::vector<uint64_t>{1, 2});
  CHECK(at.service->tenants().running("default") == 0);
  at.cast.let_go();  // what still comes is forgotten
  CHECK(got->body.empty());
}

TEST_CASE("streams in which nothing is said get comments, none once they are over") {
  FakeService at;
  at.cast.holds = true;
  Json response = {{"model", "m"}, {"input", "Hi"}, {"stream", true}};
  Json messages = messages_body();
  messages["stream"] = true;
  const std::vector<std::shared_ptr<KeptExchange>> streams = {
      at.post("/v1/chat/completions", messages), at.post("/v1/messages", messages),
      at.post("/v1/responses", response)};
  const auto look = [&] {
    const auto due = std::exchange(at.later, {});
    for (const auto& [ms, run] : due) run();
    return due.size();
  };
  for (const auto& [ms, run] : at.later) CHECK(ms == gateway::limits::keep_alive_s * 1000);
  CHECK(look() == 3);
  for (const auto& stream : streams) CHECK(stream->body.empty());
  std::this_thread::sleep_for(std::chrono::milliseconds(gateway::limits::keep_alive_s * 1000 + 50));
  CHECK(look() == 3);
  for (const auto& stream : streams) {
    CHECK(stream->is_stream);
    CHECK(stream->body == ": still here\n\n");
  }
  // Its head is out: what goes wrong from now on is an event.
  at.cast.failure = error(Code::unavailable, "gone");
  at.cast.answer(0);
  CHECK(streams[0]->events().at(0)["error"]["message"].is_string());
  at.cast.failure.reset();
  at.cast.answer(1);
  at.cast.answer(2);
  CHECK(streams[1]->body.starts_with(": still here\n\nevent: message_start\n"));
  CHECK(streams[2]->body.find("response.completed") != std::string::npos);
  CHECK(look() == 3);
  CHECK(at.later.empty());
}

/// Bodies with all that the SDK can send, by path.
std::vector<std::pair<std::string, Json>> full_bodies() {
  const Json tool = {{"type", "function"},
                     {"function", {{"name", "look"}, {"parameters", {{"type", "object"}}}}}};
  Json shared = {{"model", "m"},
                 {"frequency_penalty", 0.5},
                 {"logit_bias", {{"65", 5}}},
                 {"max_tokens", 9},
                 {"n", 2},
                 {"presence_penalty", 0.5},
                 {"seed", 5},
                 {"stop", Json::array({"x"})},
                 {"stream", true},
                 {"stream_options", {{"include_usage", true}}},
                 {"temperature", 0.5},
                 {"top_p", 0.5},
                 {"user", "u"},
                 {"top_k", 5},
                 {"min_p", 0.1},
                 {"repetition_penalty", 1.1},
                 {"ignore_eos", true},
                 {"min_tokens", 1},
                 {"priority", 1}};
  Json chat = shared;
  chat.update(Json{{"messages", chat_body()["messages"]},
                   {"logprobs", true},
                   {"top_logprobs", 2},
                   {"max_completion_tokens", 9},
                   {"metadata", {{"a", "b"}}},
                   {"modalities", {"text"}},
                   {"parallel_tool_calls", true},
                   {"prompt_cache_key", "k"},
                   {"prompt_cache_retention", "24h"},
                   {"reasoning_effort", "low"},
                   {"response_format", {{"type", "text"}}},
                   {"safety_identifier", "s"},
                   {"service_tier", "auto"},
                   {"store", false},
                   {"tool_choice", "auto"},
                   {"tools", {tool}},
                   {"verbosity", "low"},
                   {"chat_template_kwargs", {{"a", true}}}});
  chat.erase("max_tokens");
  Json completion = shared;
  completion.update(Json{{"prompt", "Hi"}, {"best_of", 2}, {"echo", false}, {"logprobs", 1}});
  return {{"/v1/chat/completions", chat}, {"/v1/completions", completion}};
}

Json full_response() {
  return {{"model", "m"},
          {"input", "Hi"},
          {"instructions", "Be brief."},
          {"max_output_tokens", 9},
          {"metadata", {{"a", "b"}}},
          {"parallel_tool_calls", true},
          {"prompt_cache_key", "k"},
          {"prompt_cache_retention", "24h"},
          {"reasoning", {{"effort", "low"}}},
          {"safety_identifier", "s"},
          {"service_tier", "auto"},
          {"store", false},
          {"stream", true},
          {"temperature", 0.5},
          {"text", {{"format", {{"type", "text"}}}}},
          {"tool_choice", "auto"},
          {"tools", Json::array()},
          {"top_p", 0.5},
          {"truncation", "disabled"},
          {"user", "u"},
          {"background", false},
          {"include", Json::array()}};
}

TEST_CASE("every parameter that the SDK has is known: taken, or without meaning here") {
  FakeService at;
  auto bodies = full_bodies();
  bodies.emplace_back("/v1/responses", full_response());
  for (const auto& whole : bodies) {
    CAPTURE(whole.first);
    const auto got = at.post(whole.first, whole.second);
    INFO(got->body);
    CHECK(got->status == 200);
  }
  const std::string page = own_metrics(*at.service);
  const std::string family = "\ntroupe_gateway_unknown_fields_total{";
  for (size_t from = 0; (from = page.find(family, from)) != std::string::npos; ++from) {
    FAIL_CHECK(page.substr(from + 1, page.find('\n', from + 1) - from - 1));
  }
  CHECK(at.cast.requests.at(0).sampling.temperature == 0.5f);
  CHECK(at.cast.requests.at(0).choices == 2);
}

}  // namespace
}  // namespace troupe::testing
