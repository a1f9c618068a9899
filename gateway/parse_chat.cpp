// POST /v1/chat/completions: the body as a generation.
#include "engine/sampling.hpp"
#include "gateway/chat_messages.hpp"
#include "gateway/generation.hpp"
#include "gateway/limits.hpp"

namespace troupe::gateway {
namespace {

const Json no_object = Json::object();

void read_lengths(Fields& fields, const actors::ModelCard& card, engine::SamplingParams& sampling) {
  sampling.max_tokens = output_max(card);
  fields.whole("max_tokens", 1, card.output_tokens_max, sampling.max_tokens);
  fields.whole("max_completion_tokens", 1, card.output_tokens_max, sampling.max_tokens);
  fields.whole("min_tokens", 0, sampling.max_tokens, sampling.min_tokens);
}

void read_logprobs(Fields& fields, Generation& out, actors::GenerateRequest& request) {
  fields.flag("logprobs", out.logprobs);
  fields.whole("top_logprobs", 0, engine::limits::top_logprobs_max, out.top_logprobs);
  if (out.top_logprobs > 0 && !out.logprobs) {
    fields.refuse("top_logprobs", "needs logprobs to be true");
  }
  request.sampling.top_logprobs = out.top_logprobs;
}

/// Accepted because every client sends them; nothing here depends on them.
void read_indifferent(Fields& fields) {
  for (const char* name : {"user", "service_tier", "safety_identifier", "prompt_cache_key",
                           "prompt_cache_retention", "verbosity"}) {
    std::string ignored;
    fields.text(name, ignored);
  }
  fields.object("metadata");
  bool ignored = false;
  fields.flag("store", ignored);
  fields.flag("parallel_tool_calls", ignored);
}

void refuse_what_is_not_here(Fields& fields) {
  if (const Json* modalities = fields.array("modalities", 8)) {
    for (const Json& entry : *modalities) {
      if (entry != "text") fields.refuse("modalities", "has more than text", "unsupported_value");
    }
  }
  for (const char* name :
       {"audio", "prediction", "web_search_options", "functions", "function_call"}) {
    const Json* value = fields.find(name);
    if (value == nullptr || value->empty()) continue;
    fields.refuse(name, "is not supported here", "unsupported_parameter");
  }
}

}  // namespace

void read_stream(Fields& fields, std::optional<ApiError>& error, Generation& out) {
  fields.flag("stream", out.stream);
  const Json* options = fields.object("stream_options");
  if (options == nullptr) return;
  if (!out.stream) {
    fields.refuse("stream_options", "is only allowed when stream is true");
    return;
  }
  Fields of(*options, "stream_options.", error);
  of.flag("include_usage", out.include_usage);
}

void read_response_format(Fields& fields, const char* name, const Json* format) {
  if (format == nullptr) return;
  const std::string type =
      format->is_object() && format->contains("type") && (*format)["type"].is_string()
          ? (*format)["type"].get<std::string>()
          : "";
  if (type == "text") return;
  if (type == "json_object" || type == "json_schema") {
    fields.refuse(name,
                  "is " + type +
                      ", which this server cannot enforce yet; leave it out and ask for JSON in "
                      "the prompt",
                  "unsupported_value");
    return;
  }
  fields.refuse(name, "has no type that is known, expected text, json_object or json_schema");
}

void read_template_variables(Fields& fields, Json& chat) {
  Json variables = no_object;
  if (const Json* given = fields.object("chat_template_kwargs")) variables = *given;
  std::string effort;
  fields.text("reasoning_effort", effort);
  if (!effort.empty() && !variables.contains("reasoning_effort")) {
    variables["reasoning_effort"] = effort;
  }
  if (!variables.empty()) chat["variables"] = std::move(variables);
}

std::optional<ApiError> finish_chat(const Fields& fields, const actors::ModelCard& card,
                                    const char* param, Json chat, Json tools,
                                    actors::GenerateRequest request, Generation& out) {
  if (!card.has_chat_template) {
    return ApiError{400, "the model has no chat template; use /v1/completions", param,
                    "unsupported_value"};
  }
  if (!tools.empty()) chat["tools"] = std::move(tools);
  request.chat_json = text_of(chat);
  out.stop = request.stop;
  out.unknown = fields.unknown();
  out.requests.push_back(std::move(request));
  return std::nullopt;
}

std::optional<ApiError> parse_chat(const Json& body, const actors::ModelCard& card,
                                   Generation& out) {
  std::optional<ApiError> error;
  Fields fields(body, "", error);
  read_model(fields, card, out.model, error);
  actors::GenerateRequest request;
  Json chat = {{"messages", Json::array()}};
  const Json* messages = fields.array("messages", limits::messages_max);
  if (!error && (messages == nullptr || messages->empty())) {
    fields.refuse("messages",
                  messages == nullptr ? "is missing, expected an array of messages"
                                      : "is empty, expected at least one message",
                  messages == nullptr ? "missing_required_parameter" : "");
  }
  if (!error) chat["messages"] = openai_messages(*messages, error);
  Json tools = openai_tools(fields, error);
  read_template_variables(fields, chat);
  read_stream(fields, error, out);
  read_sampling(fields, card, request);
  read_lengths(fields, card, request.sampling);
  read_logprobs(fields, out, request);
  read_response_format(fields, "response_format", fields.object("response_format"));
  read_indifferent(fields);
  refuse_what_is_not_here(fields);
  if (error) return error;
  return finish_chat(fields, card, "messages", std::move(chat), std::move(tools),
                     std::move(request), out);
}

}  // namespace troupe::gateway
