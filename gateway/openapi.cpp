// The description of the API at /openapi.json.
#include "gateway/service.hpp"

namespace troupe::gateway {
namespace {

Json reference(const char* name) {
  return {{"$ref", concat("#/components/schemas/", name)}};
}

Json json_content(const Json& schema) {
  return {{"application/json", {{"schema", schema}}}};
}

Json number(double low, double high) {
  return {{"type", "number"}, {"minimum", low}, {"maximum", high}};
}

Json whole(int64_t low, int64_t high) {
  return {{"type", "integer"}, {"minimum", low}, {"maximum", high}};
}

Json any_object() {
  return {{"type", "object"}};
}

/// Statuses that every path may answer with.
Json responses(const Json& schema, bool streams) {
  Json ok = {{"description", "the answer"}, {"content", json_content(schema)}};
  if (streams) ok["content"]["text/event-stream"] = {{"schema", {{"description", "events"}}}};
  Json all = {{"200", std::move(ok)}};
  for (const int status : {400, 401, 403, 404, 405, 408, 413, 415, 417, 429, 431, 500, 503}) {
    all[std::to_string(status)] = {{"description", std::string(reason_of(status))},
                                   {"content", json_content(reference("Error"))}};
  }
  return all;
}

Json get(const char* summary, const Json& schema) {
  return {{"get", {{"summary", summary}, {"responses", responses(schema, false)}}}};
}

Json post(const char* summary, const char* body, bool streams) {
  return {{"post",
           {{"summary", summary},
            {"requestBody", {{"required", true}, {"content", json_content(reference(body))}}},
            {"responses", responses(any_object(), streams)}}}};
}

Json object_of(Json properties, const std::vector<std::string>& required) {
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", required}};
}

Json sampling_properties(const std::string& model) {
  return {{"model", {{"type", "string"}, {"enum", Json::array({model})}}},
          {"stream", {{"type", "boolean"}}},
          {"temperature", number(0, 100)},
          {"top_p", {{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 1}}},
          {"top_k", whole(-1, INT32_MAX)},
          {"min_p", number(0, 1)},
          {"seed", {{"type", "integer"}}}};
}

Json message_list(Json roles) {
  Json part = object_of(
      {{"type", {{"type", "string"}, {"enum", {"text"}}}}, {"text", {{"type", "string"}}}},
      {"type", "text"});
  Json content;
  content["anyOf"] = Json::array({Json{{"type", "string"}}});
  content["anyOf"].push_back({{"type", "array"}, {"items", std::move(part)}});
  Json message = object_of(
      {{"role", {{"type", "string"}, {"enum", std::move(roles)}}}, {"content", std::move(content)}},
      {"role", "content"});
  return {{"type", "array"}, {"minItems", 1}, {"items", std::move(message)}};
}

Json schemas(const std::string& model) {
  Json chat = sampling_properties(model);
  chat["messages"] = message_list({"system", "developer", "user", "assistant", "tool"});
  chat["max_tokens"] = whole(1, INT32_MAX);
  chat["max_completion_tokens"] = whole(1, INT32_MAX);
  chat["n"] = whole(1, 128);
  chat["presence_penalty"] = number(-2, 2);
  chat["frequency_penalty"] = number(-2, 2);
  chat["logprobs"] = {{"type", "boolean"}};
  chat["top_logprobs"] = whole(0, 20);
  Json completion = sampling_properties(model);
  completion["prompt"] = {{"type", Json::array({"string", "array"})}};
  completion["max_tokens"] = whole(1, INT32_MAX);
  completion["n"] = whole(1, 128);
  completion["logprobs"] = whole(0, 20);
  completion["echo"] = {{"type", "boolean"}};
  Json messages = sampling_properties(model);
  messages["messages"] = message_list({"user", "assistant", "system"});
  messages["max_tokens"] = whole(1, INT32_MAX);
  messages["system"] = {{"type", Json::array({"string", "array"})}};
  Json count = messages;
  count.erase("max_tokens");
  Json response = sampling_properties(model);
  response["input"] = {{"type", Json::array({"string", "array"})}};
  response["instructions"] = {{"type", "string"}};
  response["max_output_tokens"] = whole(1, INT32_MAX);
  const Json tokens = {{"type", "array"}, {"items", whole(0, INT32_MAX)}};
  return {{"Chat", object_of(std::move(chat), {"model", "messages"})},
          {"Completion", object_of(std::move(completion), {"model", "prompt"})},
          {"Messages", object_of(std::move(messages), {"model", "messages", "max_tokens"})},
          {"Count", object_of(std::move(count), {"model", "messages"})},
          {"Response", object_of(std::move(response), {"model", "input"})},
          {"Tokenize", object_of({{"prompt", {{"type", "string"}}}}, {"prompt"})},
          {"Detokenize", object_of({{"tokens", tokens}}, {"tokens"})},
          {"Error", object_of({{"error", any_object()}}, {"error"})}};
}

}  // namespace

std::string openapi_text(const std::string& model) {
  Json paths;
  paths["/health/live"] = get("Whether the process answers.", any_object());
  paths["/health/ready"] = get("Whether a token could be produced now.", any_object());
  paths["/v1/models"] = get("The models that are served.", any_object());
  paths["/v1/chat/completions"] = post("Answers a chat (OpenAI).", "Chat", true);
  paths["/v1/completions"] = post("Continues a text (OpenAI).", "Completion", true);
  paths["/v1/responses"] = post("Answers a chat (OpenAI's Responses).", "Response", true);
  paths["/v1/messages"] = post("Answers a chat (Anthropic).", "Messages", true);
  paths["/v1/messages/count_tokens"] = post("Counts a chat's tokens (Anthropic).", "Count", false);
  paths["/tokenize"] = post("Token ids of a text.", "Tokenize", false);
  paths["/detokenize"] = post("The text of token ids.", "Detokenize", false);
  const Json bearer = {{"type", "http"}, {"scheme", "bearer"}};
  Json api = {{"openapi", "3.1.0"}};
  api["info"] = {{"title", "Troupe"}, {"version", "0.1.0"}};
  api["paths"] = std::move(paths);
  api["components"] = {{"securitySchemes", {{"key", bearer}}}, {"schemas", schemas(model)}};
  api["security"] = Json::array({Json{{"key", Json::array()}}});
  return text_of(api);
}

}  // namespace troupe::gateway
