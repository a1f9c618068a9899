// cache_control of Anthropic's API: where marks stand, how long they hold, what is refused.
#include "tests/gateway/fake_cast.hpp"

namespace troupe::testing {
namespace {

Json mark(const char* ttl = nullptr) {
  Json control = {{"type", "ephemeral"}};
  if (ttl != nullptr) control["ttl"] = ttl;
  return control;
}

Json text_block(const std::string& text, const Json& control = {}) {
  Json block = {{"type", "text"}, {"text", text}};
  if (!control.is_null()) block["cache_control"] = control;
  return block;
}

Json tool(const std::string& name, const Json& control = {}) {
  Json tool = {{"name", name}, {"input_schema", {{"type", "object"}}}};
  if (!control.is_null()) tool["cache_control"] = control;
  return tool;
}

/// What the cast was asked to keep, one a line: place, bytes, seconds.
std::string marks_of(FakeService& at, const Json& body) {
  const auto got = at.post("/v1/messages", body);
  REQUIRE_MESSAGE(got->status == 200, got->body);
  std::string out;
  for (const actors::CacheMark& mark : at.cast.requests.back().cache_marks) {
    out += concat(mark.in_tools ? "tool " : "message ", mark.index, " ", mark.content_bytes, " ",
                  mark.ttl_s, "\n");
  }
  return out;
}

/// The message of the 400 that the body gets.
std::string refusal_of(const Json& body) {
  FakeService at;
  const auto got = at.post("/v1/messages", body);
  CHECK(got->status == 400);
  CHECK(at.cast.requests.empty());
  CHECK(got->json()["error"]["type"] == "invalid_request_error");
  return got->json()["error"]["message"];
}

bool has(const std::string& text, const std::string& piece) {
  CHECK_MESSAGE(text.find(piece) != std::string::npos, text);
  return text.find(piece) != std::string::npos;
}

TEST_CASE("marks on tools, system and messages reach the cast as places of the conversation") {
  FakeService at;
  Json body = messages_body();
  CHECK(marks_of(at, body).empty());
  body["tools"] = Json::array({tool("a"), tool("b", mark("1h"))});
  body["system"] = Json::array({text_block("One", mark("1h")), text_block("Two")});
  body["messages"] = Json::array(
      {{{"role", "user"},
        {"content", Json::array({text_block("Hi"), text_block("there", mark()), text_block("x")})}},
       {{"role", "assistant"}, {"content", "Yes"}},
       {{"role", "user"}, {"content", Json::array({text_block("Go on", mark("5m"))})}}});
  CHECK(marks_of(at, body) ==
        "tool 1 0 3600\nmessage 0 3 3600\nmessage 1 8 300\nmessage 3 5 300\n");
}

TEST_CASE("marks on calls and results of tools") {
  FakeService at;
  Json body = messages_body();
  Json call = {{"type", "tool_use"}, {"id", "t1"}, {"name", "a"}, {"input", {{"x", 1}}}};
  call["cache_control"] = mark();
  Json result = {{"type", "tool_result"}, {"tool_use_id", "t1"}, {"content", "fine"}};
  result["cache_control"] = mark();
  Json second = {{"type", "tool_result"}, {"tool_use_id", "t1"}};
  second["content"] = Json::array({text_block("one"), text_block("two", mark())});
  body["messages"].push_back({{"role", "assistant"}, {"content", Json::array({call})}});
  body["messages"].push_back({{"role", "user"}, {"content", Json::array({result, second})}});
  CHECK(marks_of(at, body) == "message 1 0 300\nmessage 2 4 300\nmessage 3 7 300\n");
}

TEST_CASE("cache_control of the whole request marks the end of its last message") {
  FakeService at;
  Json body = messages_body();
  body["cache_control"] = mark("1h");
  CHECK(marks_of(at, body) == "message 0 2 3600\n");
  body["system"] = "Brief";
  CHECK(marks_of(at, body) == "message 1 2 3600\n");
  // A mark that is there already is the same one.
  body["messages"][0]["content"] = Json::array({text_block("Hi", mark("1h"))});
  CHECK(marks_of(at, body) == "message 1 2 3600\n");
  body["cache_control"] = mark();
  CHECK(has(refusal_of(body), "another ttl"));
  body["cache_control"] = nullptr;
  CHECK(marks_of(at, body) == "message 1 2 3600\n");
}

TEST_CASE("more than four marks, empty blocks, unknown times and kinds are refused") {
  Json body = messages_body();
  Json blocks = Json::array();
  for (int i = 0; i < 4; ++i) blocks.push_back(text_block("x", mark()));
  body["messages"][0]["content"] = blocks;
  FakeService at;
  CHECK(marks_of(at, body).size() == 4 * std::string("message 0 1 300\n").size());
  Json five = body;
  five["messages"][0]["content"].push_back(text_block("y", mark()));
  CHECK(refusal_of(five) == "A maximum of 4 blocks with cache_control may be provided. Found 5.");
  five = body;
  five["messages"][0]["content"].push_back(text_block("y"));
  five["cache_control"] = mark();
  CHECK(has(refusal_of(five), "Found 5."));

  const auto refused = [](const Json& block) {
    Json of = messages_body();
    of["messages"][0]["content"] = Json::array({text_block("x"), block});
    return refusal_of(of);
  };
  CHECK(has(refused(text_block("", mark())),
            "messages[0].content[1].cache_control cannot be set for empty text blocks"));
  CHECK(has(refused(text_block("y", mark("2h"))), "expected 5m or 1h"));
  CHECK(has(refused(text_block("y", {{"type", "eternal"}})), "expected ephemeral"));
  CHECK(has(refused(text_block("y", "ephemeral")), "cache_control"));
  CHECK(has(refused(text_block("y", {{"type", "ephemeral"}, {"ttl", 5}})), "cache_control.ttl"));
  Json mixed = messages_body();
  mixed["system"] = Json::array({text_block("s", mark("5m"))});
  mixed["messages"][0]["content"] = Json::array({text_block("x", mark("1h"))});
  CHECK(has(refusal_of(mixed), "must not come after"));
  mixed["system"] = Json::array({text_block("", mark())});
  CHECK(has(refusal_of(mixed), "system[0].cache_control cannot be set for empty"));
  Json thinking = messages_body();
  thinking["messages"].push_back(
      {{"role", "assistant"},
       {"content",
        Json::array({{{"type", "thinking"}, {"thinking", "hm"}, {"cache_control", mark()}}})}});
  CHECK(has(refusal_of(thinking), "cannot be set for thinking"));
}

TEST_CASE("count_tokens checks marks as well") {
  FakeService at;
  Json body = messages_body();
  body["cache_control"] = mark("2h");
  CHECK(at.post("/v1/messages/count_tokens", body)->status == 400);
  body["cache_control"] = mark();
  CHECK(at.post("/v1/messages/count_tokens", body)->status == 200);
}

}  // namespace
}  // namespace troupe::testing
