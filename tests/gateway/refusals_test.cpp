// Every wrong value of a request is 400 or 404 with the field's name: never 200, never 500.
#include "tests/gateway/fake_cast.hpp"

namespace troupe::testing {
namespace {

struct Wrong {
  const char* field;
  Json value;
  const char* param;  ///< empty: the field
};

/// Posts the body with the one field changed; says what came.
void check_refused(FakeService& at, const std::string& path, Json body, const Wrong& wrong) {
  body[wrong.field] = wrong.value;
  const auto got = at.post(path, body);
  INFO(path, " ", wrong.field, " = ", gateway::text_of(wrong.value), " -> ", got->body);
  CHECK(got->status ==
        (std::string(wrong.field) == "model" && wrong.value.is_string() ? 404 : 400));
  const Json json = got->json();
  const std::string param = *wrong.param == '\0' ? wrong.field : wrong.param;
  if (path.starts_with("/v1/messages")) {
    CHECK(json["error"]["message"].get<std::string>().find(param) != std::string::npos);
  } else {
    CHECK(json["error"]["param"] == param);
    CHECK(json["error"]["type"] == "invalid_request_error");
    CHECK(json["error"]["code"].is_string());
  }
  CHECK(at.cast.requests.empty());
}

const std::vector<Wrong> wrong_draws = {{"temperature", -1, ""},
                                        {"temperature", "hot", ""},
                                        {"top_p", -0.1, ""},
                                        {"top_p", 0, ""},
                                        {"top_p", 1.5, ""},
                                        {"min_p", 2, ""},
                                        {"top_k", -2, ""},
                                        {"top_k", 1.5, ""},
                                        {"n", 0, ""},
                                        {"n", 1.5, ""},
                                        {"n", 129, ""},
                                        {"stop", 5, ""},
                                        {"stop", Json::array({1}), ""},
                                        {"stop", "", ""},
                                        {"max_tokens", 0, ""},
                                        {"max_tokens", 501, ""},
                                        {"max_tokens", "9", ""},
                                        {"seed", "x", ""},
                                        {"presence_penalty", 3, ""},
                                        {"frequency_penalty", -3, ""},
                                        {"repetition_penalty", 0, ""},
                                        {"logit_bias", {{"256", 1}}, ""},
                                        {"logit_bias", {{"x", 1}}, ""},
                                        {"logit_bias", {{"5", 101}}, ""},
                                        {"logit_bias", Json::array({1}), ""},
                                        {"stream", "yes", ""},
                                        {"stream_options", {{"include_usage", true}}, ""},
                                        {"min_tokens", 501, ""},
                                        {"model", 5, ""},
                                        {"model", "other", ""},
                                        {"model", nullptr, ""},
                                        {"ignore_eos", 1, ""}};

TEST_CASE("OpenAI's parameters: wrong values are 400 with param") {
  FakeService at;
  for (const Wrong& wrong : wrong_draws) {
    check_refused(at, "/v1/chat/completions", chat_body(), wrong);
    check_refused(at, "/v1/completions", {{"model", "m"}, {"prompt", "a"}}, wrong);
  }
}

TEST_CASE("chats: messages, tools and formats that cannot be right") {
  FakeService at;
  const auto message = [](Json value) { return Json::array({std::move(value)}); };
  const Json call = {{"id", "a"}, {"type", "function"}, {"function", Json::object()}};
  const std::vector<Wrong> wrongs = {
      {"messages", nullptr, ""},
      {"messages", Json::array(), ""},
      {"messages", "Hi", ""},
      {"messages", message("Hi"), "messages[0]"},
      {"messages", message({{"role", "wizard"}, {"content", "Hi"}}), "messages[0].role"},
      {"messages", message({{"content", "Hi"}}), "messages[0].role"},
      {"messages", message({{"role", "user"}}), "messages[0].content"},
      {"messages", message({{"role", "user"}, {"content", 5}}), "messages[0].content"},
      {"messages", message({{"role", "assistant"}}), "messages[0].content"},
      {"messages", message({{"role", "user"}, {"content", Json::array({{{"type", "image_url"}}})}}),
       "messages[0].content[0].type"},
      {"messages", message({{"role", "tool"}, {"content", "x"}}), "messages[0].tool_call_id"},
      {"messages", message({{"role", "assistant"}, {"tool_calls", Json::array({call})}}),
       "messages[0].tool_calls[0].function.name"},
      {"tools", Json::array({{{"type", "web"}}}), "tools[0].type"},
      {"tools", Json::array({{{"type", "function"}, {"function", {{"name", "a b"}}}}}),
       "tools[0].function.name"},
      {"tool_choice", "required", ""},
      {"tool_choice", {{"type", "function"}, {"function", {{"name", "f"}}}}, ""},
      {"tool_choice", "perhaps", ""},
      {"response_format", {{"type", "json_object"}}, ""},
      {"response_format", {{"type", "json_schema"}, {"json_schema", Json::object()}}, ""},
      {"response_format", {{"type", "xml"}}, ""},
      {"top_logprobs", 21, ""},
      {"top_logprobs", 3, ""},
      {"logprobs", 5, ""},
      {"modalities", Json::array({"audio"}), ""},
      {"functions", Json::array({{{"name", "f"}}}), ""}};
  for (const Wrong& wrong : wrongs) {
    check_refused(at, "/v1/chat/completions", chat_body(), wrong);
  }
}

TEST_CASE("completions and responses: what is not supported is refused by name") {
  FakeService at;
  const std::vector<Wrong> completions = {
      {"suffix", "end", ""},         {"best_of", 3, ""},
      {"prompt", nullptr, ""},       {"prompt", 5, ""},
      {"prompt", {{"a", 1}}, ""},    {"prompt", Json::array({256}), ""},
      {"prompt", Json::array(), ""}, {"logprobs", 21, ""}};
  for (const Wrong& wrong : completions) {
    check_refused(at, "/v1/completions", {{"model", "m"}, {"prompt", "a"}}, wrong);
  }
  const std::vector<Wrong> responses = {
      {"input", nullptr, ""},
      {"input", Json::array({{{"type", "item_reference"}}}), "input[0].type"},
      {"previous_response_id", "r", ""},
      {"conversation", "c", ""},
      {"background", true, ""},
      {"tool_choice", "required", ""},
      {"max_output_tokens", 0, ""},
      {"text", {{"format", {{"type", "json_schema"}}}}, "text.format"}};
  for (const Wrong& wrong : responses) {
    check_refused(at, "/v1/responses", {{"model", "m"}, {"input", "a"}}, wrong);
  }
}

TEST_CASE("messages: wrong values are 400 and the message names the field") {
  FakeService at;
  const std::vector<Wrong> wrongs = {
      {"max_tokens", 0, ""},
      {"max_tokens", 1.5, ""},
      {"temperature", -1, ""},
      {"top_p", 2, ""},
      {"messages", Json::array(), ""},
      {"messages", Json::array({{{"role", "wizard"}, {"content", "x"}}}), "messages[0].role"},
      {"messages", Json::array({{{"role", "user"}, {"content", Json::array()}}}),
       "messages[0].content"},
      {"messages",
       Json::array({{{"role", "user"}, {"content", Json::array({{{"type", "image"}}})}}}),
       "messages[0].content[0].type"},
      {"system", 5, ""},
      {"thinking", {{"type", "maybe"}}, "thinking.type"},
      {"tools", Json::array({{{"name", "a"}}}), "tools[0].input_schema"},
      {"tools", Json::array({{{"type", "bash_20250124"}, {"name", "bash"}}}), "tools[0].type"},
      {"stop_sequences", 5, ""}};
  for (const Wrong& wrong : wrongs) check_refused(at, "/v1/messages", messages_body(), wrong);
}

TEST_CASE("bodies that are no JSON object, or too much of one") {
  FakeService at;
  const auto status_of = [&](std::string body) {
    gateway::HttpRequest request;
    request.method = "POST";
    request.path = "/v1/chat/completions";
    request.headers = {{"host", "localhost"}};
    request.body = std::move(body);
    const auto got = at.ask(std::move(request));
    CHECK(got->json()["error"]["code"] == "invalid_json");
    return got->status;
  };
  std::string members = "{";
  for (int i = 0; i < 5000; ++i) members += "\"" + std::to_string(i) + "\":1,";
  const std::vector<std::string> bodies = {"",
                                           "[1]",
                                           "{\"a\":",
                                           "\"text\"",
                                           "{\"a\":\"\xff\"}",
                                           std::string(100'000, '['),
                                           "{\"a\":" + std::string(100, '{'),
                                           "{\"a\":1e999}",
                                           members + "\"x\":1}",
                                           std::string(3, '\0')};
  for (const std::string& body : bodies) CHECK(status_of(body) == 400);
}

TEST_CASE("errors of the cast become statuses that clients understand") {
  const auto status_of = [](Code code, const std::string& what) {
    return gateway::to_api(error(code, what));
  };
  CHECK(status_of(Code::not_found, "no model").status == 404);
  CHECK(status_of(Code::unavailable, "no worker").status == 503);
  CHECK(status_of(Code::unavailable, "no worker").retry_after_s == 1);
  CHECK(status_of(Code::exhausted, "full").status == 429);
  CHECK(status_of(Code::internal, "defect").status == 500);
  CHECK(status_of(Code::invalid_argument, "max_tokens is 9999").param == "max_tokens");
  CHECK(status_of(Code::invalid_argument, "min_tokens is 5").param == "min_tokens");
  CHECK(status_of(Code::invalid_argument, "something else").param.empty());
}

}  // namespace
}  // namespace troupe::testing
