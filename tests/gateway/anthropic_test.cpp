// Anthropic's API on a fake cast: event order, counts, and what agents really send.
#include "tests/gateway/fake_cast.hpp"

namespace troupe::testing {
namespace {

std::vector<std::string> types_of(const std::vector<Json>& events) {
  std::vector<std::string> types;
  for (const Json& event : events) types.push_back(event["type"].get<std::string>());
  return types;
}

Json chat_of(const FakeService& at) {
  return Json::parse(at.cast.requests.back().chat_json);
}

TEST_CASE("messages: one object; the three counts of input add up to the prompt") {
  FakeService at;
  const Json body = at.post("/v1/messages", messages_body())->json();
  CHECK(body["type"] == "message");
  CHECK(body["role"] == "assistant");
  CHECK(body["content"] == Json::array({{{"type", "text"}, {"text", "Hello"}}}));
  CHECK(body["stop_reason"] == "end_turn");
  CHECK(body["stop_sequence"].is_null());
  const Json& usage = body["usage"];
  CHECK(usage["input_tokens"].get<int>() + usage["cache_read_input_tokens"].get<int>() +
            usage["cache_creation_input_tokens"].get<int>() ==
        100);
  CHECK(usage["cache_read_input_tokens"] == 64);
  CHECK(usage["output_tokens"] == 5);
}

TEST_CASE("messages: what is pinned and was not read from the cache is told as created") {
  struct Case {
    uint32_t cached, pinned;
    int input, created;
  };
  for (const Case& of : {Case{0, 0, 100, 0},
                         {0, 64, 36, 64},
                         {64, 0, 36, 0},
                         {64, 64, 36, 0},
                         {32, 64, 36, 32},
                         {96, 64, 4, 0}}) {
    FakeService at;
    at.cast.cached_tokens = of.cached;
    at.cast.pinned_tokens = of.pinned;
    Json body = messages_body();
    const Json usage = at.post("/v1/messages", body)->json()["usage"];
    CHECK(usage["input_tokens"] == of.input);
    CHECK(usage["cache_creation_input_tokens"] == of.created);
    CHECK(usage["cache_read_input_tokens"] == of.cached);
    body["stream"] = true;
    CHECK(at.post("/v1/messages", body)->events()[0]["message"]["usage"] ==
          Json({{"input_tokens", of.input},
                {"cache_creation_input_tokens", of.created},
                {"cache_read_input_tokens", of.cached},
                {"output_tokens", 0}}));
  }
}

TEST_CASE("messages stream: every event has its name, in the order that the SDK knows") {
  FakeService at;
  Json body = messages_body();
  body["stream"] = true;
  const auto got = at.post("/v1/messages", body);
  const auto events = got->events();
  CHECK(types_of(events) == std::vector<std::string>{"message_start", "ping", "content_block_start",
                                                     "content_block_delta", "content_block_delta",
                                                     "content_block_stop", "message_delta",
                                                     "message_stop"});
  size_t at_event = 0;
  for (const Json& event : events) {
    at_event = got->body.find("event: " + event["type"].get<std::string>() + "\ndata: ", at_event);
    CHECK(at_event != std::string::npos);
  }
  CHECK(events[0]["message"]["content"].empty());
  CHECK(events[0]["message"]["usage"]["cache_read_input_tokens"] == 64);
  CHECK(events[6]["usage"]["output_tokens"] == 5);
  CHECK(events[6]["delta"]["stop_reason"] == "end_turn");
}

TEST_CASE("messages: why it stopped") {
  FakeService at;
  Json body = messages_body();
  body["stop_sequences"] = Json::array({"END", "STOP"});
  at.cast.hidden = "STOP!";
  const Json stopped = at.post("/v1/messages", body)->json();
  CHECK(stopped["stop_reason"] == "stop_sequence");
  CHECK(stopped["stop_sequence"] == "STOP");
  CHECK(at.cast.requests.back().stop == std::vector<std::string>{"END", "STOP"});
  at.cast.hidden = "";
  at.cast.finish = "length";
  CHECK(at.post("/v1/messages", body)->json()["stop_reason"] == "max_tokens");
}

TEST_CASE("messages: a block and a plain string render alike, wherever marks stand") {
  FakeService at;
  Json body = messages_body();
  body["system"] = "Be brief";
  at.post("/v1/messages", body);
  const std::string plain = at.cast.requests.back().chat_json;
  const Json mark = {{"type", "ephemeral"}, {"ttl", "1h"}};
  body["system"] = Json::array({{{"type", "text"}, {"text", "Be brief"}, {"cache_control", mark}}});
  body["messages"][0]["content"] =
      Json::array({{{"type", "text"}, {"text", "Hi"}, {"cache_control", mark}}});
  at.post("/v1/messages", body);
  CHECK(at.cast.requests.back().chat_json == plain);
}

TEST_CASE("messages: what a coding agent sends") {
  FakeService at;
  Json body = messages_body();
  body["stream"] = true;
  body["max_tokens"] = 32000;
  body["tools"] = Json::array();
  body["thinking"] = {{"type", "adaptive"}, {"display", "omitted"}};
  body["context_management"] = {{"edits", Json::array()}};
  body["output_config"] = {{"effort", "high"}};
  body["metadata"] = {{"user_id", "u"}};
  body["something_new"] = 1;
  body["messages"].push_back({{"role", "system"}, {"content", "Reminder"}});
  body["messages"].push_back({{"role", "user"}, {"content", "Go on"}});
  gateway::HttpRequest request;
  const auto got = at.post("/v1/messages", body, {{"anthropic-beta", "a,b,c"}});
  CHECK(got->status == 200);
  CHECK(at.cast.requests.back().sampling.max_tokens == 500);
  CHECK(chat_of(at)["messages"][1]["role"] == "system");
  CHECK_FALSE(chat_of(at).contains("tools"));
  CHECK(own_metrics(*at.service).find("field=\"something_new\"} 1") != std::string::npos);
}

TEST_CASE("messages: tools and their results reach the template in its own form") {
  FakeService at;
  Json body = messages_body();
  body["tools"] = Json::array({{{"name", "get_weather"},
                                {"description", "Weather"},
                                {"input_schema", {{"type", "object"}}}}});
  body["messages"].push_back({{"role", "assistant"},
                              {"content", Json::array({{{"type", "text"}, {"text", "Let me look."}},
                                                       {{"type", "tool_use"},
                                                        {"id", "t1"},
                                                        {"name", "get_weather"},
                                                        {"input", {{"city", "Ulm"}}}}})}});
  body["messages"].push_back(
      {{"role", "user"},
       {"content", Json::array({{{"type", "tool_result"}, {"tool_use_id", "t1"}, {"content", "ok"}},
                                {{"type", "text"}, {"text", "And?"}}})}});
  REQUIRE(at.post("/v1/messages", body)->status == 200);
  const Json chat = chat_of(at);
  CHECK(chat["tools"][0]["function"]["name"] == "get_weather");
  CHECK(chat["tools"][0]["function"]["parameters"]["type"] == "object");
  REQUIRE(chat["messages"].size() == 4);
  CHECK(chat["messages"][1]["tool_calls"][0]["function"]["arguments"]["city"] == "Ulm");
  CHECK(chat["messages"][2]["role"] == "tool");
  CHECK(chat["messages"][2]["name"] == "get_weather");
  CHECK(chat["messages"][3]["content"] == "And?");
}

TEST_CASE("messages: errors in Anthropic's shape, and forced calls are refused with a reason") {
  FakeService at;
  const auto type_of = [&](const Json& body) {
    const auto got = at.post("/v1/messages", body);
    const Json json = got->json();
    CHECK(json["type"] == "error");
    return std::to_string(got->status) + " " + json["error"]["type"].get<std::string>();
  };
  Json body = messages_body();
  body["model"] = "other";
  CHECK(type_of(body) == "404 not_found_error");
  body = messages_body();
  body.erase("max_tokens");
  CHECK(type_of(body) == "400 invalid_request_error");
  body = messages_body();
  body["tool_choice"] = {{"type", "any"}};
  CHECK(type_of(body) == "400 invalid_request_error");
  body = messages_body();
  body["output_config"] = {{"format", {{"type", "json_schema"}, {"schema", Json::object()}}}};
  CHECK(type_of(body) == "400 invalid_request_error");
  body = messages_body();
  body["messages"].push_back({{"role", "assistant"}, {"content", "I"}});
  CHECK(type_of(body) == "400 invalid_request_error");
  at.cast.failure = error(Code::exhausted, "too many wait");
  CHECK(type_of(messages_body()) == "429 rate_limit_error");
  CHECK(at.post("/v1/messages", messages_body())->header("retry-after") == "1");
}

TEST_CASE("count_tokens and the list of models in both shapes") {
  FakeService at;
  Json body = messages_body();
  body.erase("max_tokens");
  CHECK(at.post("/v1/messages/count_tokens", body)->json()["input_tokens"].get<int>() > 0);
  CHECK(at.get("/v1/models")->json()["object"] == "list");
  const Json anthropic = at.get("/v1/models", {{"anthropic-version", "2023-06-01"}})->json();
  CHECK(anthropic["has_more"] == false);
  CHECK(anthropic["data"][0]["type"] == "model");
  CHECK(at.get("/v1/models/m")->json()["id"] == "m");
  CHECK(at.get("/v1/models/x")->status == 404);
}

}  // namespace
}  // namespace troupe::testing
