// Every field of every endpoint with values that it was not made for: an answer or a 400 or 404
// that names the field, nothing else.
#include <map>

#include "tests/gateway/fake_cast.hpp"

namespace troupe::testing {
namespace {

const std::vector<Json>& odd_values() {
  static const std::vector<Json> values = {nullptr,
                                           true,
                                           -1,
                                           0,
                                           1.5,
                                           1e308,
                                           -1e308,
                                           int64_t{1} << 32,
                                           uint64_t{1} << 63,
                                           1e40,
                                           "",
                                           "x",
                                           std::string(1, '\0'),
                                           std::string(10'000, 'x'),
                                           "NaN",
                                           Json::array(),
                                           Json::array({Json::array()}),
                                           Json::object(),
                                           Json({{"a", 1}}),
                                           Json::array({nullptr}),
                                           Json::array({1, "a"}),
                                           Json::array({Json::object()}),
                                           Json::array({-1}),
                                           Json::array({int64_t{1} << 40}),
                                           Json({{"type", "x"}}),
                                           Json({{"type", 5}}),
                                           Json::array({{{"type", 5}}}),
                                           Json::array({{{"type", "text"}, {"text", 5}}})};
  return values;
}

struct Endpoint {
  const char* path;
  Json body;
  std::vector<std::string> fields;
};

std::vector<Endpoint> endpoints() {
  Json completion = {{"model", "m"}, {"prompt", "Hi"}, {"max_tokens", 3}};
  Json response = {{"model", "m"}, {"input", "Hi"}};
  return {{"/v1/chat/completions",
           chat_body(),
           {"model",
            "messages",
            "stream",
            "stream_options",
            "n",
            "stop",
            "max_tokens",
            "max_completion_tokens",
            "temperature",
            "top_p",
            "top_k",
            "min_p",
            "seed",
            "presence_penalty",
            "frequency_penalty",
            "repetition_penalty",
            "logit_bias",
            "logprobs",
            "top_logprobs",
            "response_format",
            "tools",
            "tool_choice",
            "parallel_tool_calls",
            "reasoning_effort",
            "chat_template_kwargs",
            "ignore_eos",
            "min_tokens",
            "priority",
            "user",
            "metadata"}},
          {"/v1/completions",
           completion,
           {"model", "prompt", "stream", "stream_options", "n", "best_of", "echo", "suffix", "stop",
            "max_tokens", "temperature", "top_p", "seed", "logit_bias", "logprobs", "user",
            "min_tokens", "ignore_eos"}},
          {"/v1/messages",
           messages_body(),
           {"model", "messages", "system", "tools", "tool_choice", "stop_sequences", "max_tokens",
            "temperature", "top_p", "top_k", "stream", "metadata", "thinking", "cache_control",
            "context_management", "output_config", "output_format", "mcp_servers", "service_tier"}},
          {"/v1/responses",
           response,
           {"model", "input", "instructions", "stream", "max_output_tokens", "temperature", "top_p",
            "tools", "tool_choice", "text", "truncation", "previous_response_id", "store",
            "reasoning", "metadata", "include", "background", "user", "parallel_tool_calls"}},
          {"/tokenize",
           {{"prompt", "Hi"}},
           {"prompt", "text", "messages", "add_special_tokens", "parse_special"}},
          {"/detokenize", {{"tokens", Json::array({1, 2})}}, {"tokens"}}};
}

/// What is wrong with the answer; empty: nothing.
std::string mistake_in(const KeptExchange& got, const std::string& field) {
  if (got.status == 200) return {};
  if (got.status != 400 && got.status != 404) return "status " + std::to_string(got.status);
  const Json error = got.json()["error"];
  if (error.contains("param")) return error["param"].is_string() ? "" : "no param";
  const bool is_named = error["message"].get<std::string>().find(field) != std::string::npos;
  return is_named ? "" : "the message does not name the field";
}

TEST_CASE("a field with a value that it was not made for is taken, or refused by its name") {
  for (const Endpoint& endpoint : endpoints()) {
    for (const std::string& field : endpoint.fields) {
      for (const Json& value : odd_values()) {
        FakeService at;
        Json body = endpoint.body;
        body[field] = value;
        const auto got = at.post(endpoint.path, body);
        const std::string mistake = mistake_in(*got, field);
        CHECK_MESSAGE(mistake.empty(),
                      concat(endpoint.path, " ", field, "=", gateway::text_of(value).substr(0, 60),
                             ": ", mistake, ": ", got->body.substr(0, 300)));
      }
    }
  }
}

TEST_CASE("a message, a part, a tool or a call with such a value is refused by its place") {
  const auto check = [](const char* path, const Json& body, const std::string& place) {
    FakeService at;
    const auto got = at.post(path, body);
    const std::string mistake = mistake_in(*got, place);
    CHECK_MESSAGE(mistake.empty(), concat(path, " ", gateway::text_of(body).substr(0, 200), ": ",
                                          mistake, ": ", got->body.substr(0, 300)));
  };
  for (const char* path : {"/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens"}) {
    for (const Json& value : odd_values()) {
      for (const char* field : {"role", "content", "name", "tool_calls", "tool_call_id"}) {
        Json body = messages_body();
        body["messages"][0][field] = value;
        check(path, body, "messages");
      }
      for (const char* type : {"text", "image_url", "tool_use", "tool_result", "thinking", "x"}) {
        Json body = messages_body();
        body["messages"][0]["content"] = Json::array({{{"type", type},
                                                       {"text", value},
                                                       {"tool_use_id", value},
                                                       {"content", value},
                                                       {"input", value},
                                                       {"name", value},
                                                       {"cache_control", value}}});
        check(path, body, "messages");
      }
      for (const Json& tool :
           {value, Json({{"type", value}}), Json({{"type", "function"}, {"function", value}}),
            Json({{"name", value}, {"input_schema", Json::object()}}),
            Json({{"name", "a"}, {"input_schema", value}})}) {
        Json body = messages_body();
        body["tools"] = Json::array({tool});
        check(path, body, "tools");
      }
    }
  }
}

TEST_CASE("what the cast finds wrong with a prompt names the field that the API has for it") {
  for (const auto& [path, field] :
       std::map<std::string, std::string>{{"/v1/chat/completions", "messages"},
                                          {"/v1/completions", "prompt"},
                                          {"/v1/responses", "input"}}) {
    FakeService at;
    at.cast.failure = error(Code::invalid_argument, "the prompt is empty", "at least one token");
    for (const Endpoint& endpoint : endpoints()) {
      if (endpoint.path != path) continue;
      const auto got = at.post(path, endpoint.body);
      CHECK(got->status == 400);
      CHECK(got->json()["error"]["param"] == field);
    }
  }
}

}  // namespace
}  // namespace troupe::testing
