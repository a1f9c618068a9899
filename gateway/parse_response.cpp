// POST /v1/responses: the body as a generation. Nothing is stored: what refers to earlier responses
// is refused.
#include <map>

#include "engine/sampling.hpp"
#include "gateway/chat_messages.hpp"
#include "gateway/generation.hpp"
#include "gateway/limits.hpp"

namespace troupe::gateway {
namespace {

void read_call(Fields& item, Json& out, std::map<std::string, std::string>& called) {
  std::string id;
  std::string name;
  std::string arguments;
  item.text("call_id", id);
  item.text("name", name);
  item.text("arguments", arguments);
  if (item.failed()) return;
  called[id] = name;
  // Calls of one turn belong to one message.
  const bool continues = !out.empty() && out.back().contains("tool_calls");
  if (!continues) {
    const bool follows_text = !out.empty() && out.back()["role"] == "assistant";
    if (!follows_text) out.push_back({{"role", "assistant"}, {"content", ""}});
    out.back()["tool_calls"] = Json::array();
  }
  out.back()["tool_calls"].push_back(tool_call(id, name, Json(arguments)));
}

void read_output(Fields& item, std::optional<ApiError>& error, Json& out,
                 const std::map<std::string, std::string>& called) {
  std::string id;
  item.text("call_id", id);
  const Json* output = item.find("output");
  std::string text =
      output == nullptr ? "" : content_text(*output, item.where("output"), "\n", error);
  if (error) return;
  Json message = {{"role", "tool"}, {"content", std::move(text)}, {"tool_call_id", id}};
  if (const auto found = called.find(id); found != called.end()) message["name"] = found->second;
  out.push_back(std::move(message));
}

void read_item(const Json& json, const std::string& path, std::optional<ApiError>& error, Json& out,
               std::map<std::string, std::string>& called) {
  if (!json.is_object()) {
    error =
        ApiError{400, path + " is " + kind_of(json) + ", expected an object", path, "invalid_type"};
    return;
  }
  Fields item(json, path + ".", error);
  std::string type = "message";
  item.text("type", type);
  if (error || type == "reasoning") return;
  if (type == "function_call") {
    read_call(item, out, called);
  } else if (type == "function_call_output") {
    read_output(item, error, out, called);
  } else if (type == "message") {
    std::string role;
    item.text("role", role);
    const bool is_known =
        role == "user" || role == "assistant" || role == "system" || role == "developer";
    if (!error && !is_known) {
      item.refuse("role",
                  "is " + text_of(role) + ", expected user, assistant, system or developer");
    }
    const Json* content = item.find("content");
    if (!error && content == nullptr) {
      item.refuse("content", "is missing, expected a string or parts",
                  "missing_required_parameter");
    }
    if (error) return;
    const char* between = role == "assistant" ? "" : "\n";
    out.push_back({{"role", role == "developer" ? "system" : role},
                   {"content", content_text(*content, item.where("content"), between, error)}});
  } else {
    item.refuse("type",
                "is " + text_of(type) +
                    ", expected message, function_call, function_call_output "
                    "or reasoning: nothing is stored here",
                "unsupported_value");
  }
}

void read_input(Fields& fields, std::optional<ApiError>& error, Json& out) {
  std::string instructions;
  fields.text("instructions", instructions);
  if (!instructions.empty()) out.push_back({{"role", "system"}, {"content", instructions}});
  const Json* input = fields.find("input");
  if (error) return;
  if (input != nullptr && input->is_string()) {
    out.push_back({{"role", "user"}, {"content", *input}});
    return;
  }
  if (input == nullptr || !input->is_array() || input->empty() ||
      input->size() > limits::messages_max) {
    fields.refuse("input", concat("is not there, expected a string or 1 to ", limits::messages_max,
                                  " items"));
    return;
  }
  std::map<std::string, std::string> called;
  for (size_t i = 0; i < input->size() && !error; ++i) {
    read_item((*input)[i], concat("input[", i, "]"), error, out, called);
  }
}

/// {"type": "function", "name", "parameters"} without the inner object that the chat API has.
Json read_tools(Fields& fields, std::optional<ApiError>& error) {
  Json out = Json::array();
  const Json* tools = fields.array("tools", limits::tools_max);
  for (size_t i = 0; tools != nullptr && i < tools->size() && !error; ++i) {
    Fields tool((*tools)[i], concat("tools[", i, "]."), error);
    std::string type;
    std::string name;
    tool.text("type", type);
    tool.text("name", name);
    if (!error && type != "function") {
      tool.refuse("type", "is " + text_of(type) + ", a tool that this server does not run",
                  "unsupported_value");
    }
    if (!error && !is_tool_name(name)) {
      tool.refuse("name", "is " + text_of(name) + ", expected 1 to 64 of a-z, A-Z, 0-9, _ and -");
    }
    tool.object("parameters");
    if (error) break;
    Json function = (*tools)[i];
    function.erase("type");
    out.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  const Json* choice = fields.find("tool_choice");
  if (choice == nullptr || error || *choice == "auto") return out;
  if (*choice == "none") return Json::array();
  fields.refuse("tool_choice",
                "forces a call, which this server cannot do yet; expected auto or "
                "none",
                "unsupported_value");
  return out;
}

void refuse_what_is_stored(Fields& fields) {
  for (const char* name : {"previous_response_id", "conversation", "prompt"}) {
    if (fields.find(name) == nullptr) continue;
    fields.refuse(name, "refers to something stored, and this server stores nothing",
                  "unsupported_parameter");
  }
  bool background = false;
  fields.flag("background", background);
  if (background) fields.refuse("background", "is not supported here", "unsupported_parameter");
}

void read_harmless(Fields& fields, std::optional<ApiError>& error) {
  for (const char* name : {"user", "service_tier", "safety_identifier", "prompt_cache_key",
                           "truncation", "prompt_cache_retention"}) {
    std::string ignored;
    fields.text(name, ignored);
  }
  bool ignored = false;
  fields.flag("store", ignored);
  fields.flag("parallel_tool_calls", ignored);
  fields.object("metadata");
  fields.array("include", 64);
  fields.object("stream_options");
  uint32_t calls = 0;
  fields.whole("max_tool_calls", 0, INT32_MAX, calls);
  if (const Json* text = fields.object("text")) {
    Fields of(*text, "text.", error);
    read_response_format(of, "format", of.object("format"));
    std::string verbosity;
    of.text("verbosity", verbosity);
  }
}

/// What a response repeats of its request.
Json repeated(const Json& body) {
  Json out;
  const auto copy = [&](const char* name, const Json& fallback) {
    const auto found = body.find(name);
    out[name] = found == body.end() || found->is_null() ? fallback : *found;
  };
  copy("instructions", nullptr);
  copy("max_output_tokens", nullptr);
  copy("metadata", Json::object());
  copy("parallel_tool_calls", true);
  copy("temperature", 1.0);
  copy("tool_choice", "auto");
  copy("tools", Json::array());
  copy("top_p", 1.0);
  copy("truncation", "disabled");
  copy("user", nullptr);
  copy("reasoning", Json{{"effort", nullptr}, {"summary", nullptr}});
  return out;
}

}  // namespace

std::optional<ApiError> parse_response(const Json& body, const actors::ModelCard& card,
                                       Generation& out) {
  std::optional<ApiError> error;
  Fields fields(body, "", error);
  read_model(fields, card, out.model, error);
  actors::GenerateRequest request;
  Json chat = {{"messages", Json::array()}};
  read_input(fields, error, chat["messages"]);
  Json tools = read_tools(fields, error);
  read_template_variables(fields, chat);
  if (const Json* reasoning = fields.object("reasoning")) {
    Fields of(*reasoning, "reasoning.", error);
    std::string effort;
    of.text("effort", effort);
    if (!effort.empty()) chat["variables"]["reasoning_effort"] = effort;
  }
  fields.flag("stream", out.stream);
  read_sampling(fields, card, request);
  if (!error && request.choices != 1) fields.refuse("n", "is not a parameter of this API");
  request.sampling.max_tokens = output_max(card);
  fields.whole("max_output_tokens", 1, card.output_tokens_max, request.sampling.max_tokens);
  fields.whole("top_logprobs", 0, engine::limits::top_logprobs_max, out.top_logprobs);
  refuse_what_is_stored(fields);
  read_harmless(fields, error);
  if (error) return error;
  out.top_logprobs = 0;
  out.echo_fields = repeated(body);
  return finish_chat(fields, card, "input", std::move(chat), std::move(tools), std::move(request),
                     out);
}

}  // namespace troupe::gateway
