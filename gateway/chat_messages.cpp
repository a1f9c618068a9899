#include "gateway/chat_messages.hpp"

#include <algorithm>
#include <map>

#include "gateway/limits.hpp"

namespace troupe::gateway {
namespace {

bool is_text_part(const std::string& type) {
  return type == "text" || type == "input_text" || type == "output_text" || type == "refusal";
}

void read_tool_calls(Fields& fields, const Json& message, std::optional<ApiError>& error,
                     Json& out) {
  const Json* calls = fields.array("tool_calls", limits::tools_max);
  if (calls == nullptr || calls->empty()) return;
  out["tool_calls"] = Json::array();
  for (size_t i = 0; i < calls->size() && !error; ++i) {
    Fields call((*calls)[i], fields.where(concat("tool_calls[", i, "].")), error);
    std::string id;
    std::string name;
    std::string arguments;
    call.text("id", id);
    const Json* function = call.object("function");
    if (function == nullptr) {
      call.refuse("function", "is missing, expected an object", "missing_required_parameter");
      return;
    }
    Fields of(*function, call.where("function."), error);
    of.text("name", name);
    of.text("arguments", arguments);
    if (!error && name.empty()) of.refuse("name", "is missing", "missing_required_parameter");
    if (!error) out["tool_calls"].push_back(tool_call(id, name, Json(arguments)));
  }
  (void)message;
}

/// What a message of that role may have beside its content.
void read_message(const Json& message, const std::string& path, std::optional<ApiError>& error,
                  std::map<std::string, std::string>& called, Json& out) {
  Fields fields(message, path + ".", error);
  if (!message.is_object()) {
    error = ApiError{400, path + " is " + kind_of(message) + ", expected an object", path,
                     "invalid_type"};
    return;
  }
  std::string role;
  fields.text("role", role);
  const bool is_known = role == "system" || role == "developer" || role == "user" ||
                        role == "assistant" || role == "tool";
  if (!error && !is_known) {
    fields.refuse("role", role.empty()
                              ? "is missing, expected system, developer, user, assistant or tool"
                              : "is " + text_of(role) +
                                    ", expected system, developer, user, assistant or tool");
  }
  if (error) return;
  out["role"] = role == "developer" ? "system" : role;
  const Json* content = fields.find("content");
  if (content == nullptr && role != "assistant") {
    fields.refuse("content", "is missing, expected a string", "missing_required_parameter");
    return;
  }
  out["content"] = content == nullptr ? ""
                                      : content_text(*content, path + ".content",
                                                     role == "assistant" ? "" : "\n", error);
  if (role == "assistant") {
    std::string reasoning;
    fields.text("reasoning_content", reasoning);
    if (!reasoning.empty()) out["reasoning_content"] = reasoning;
    read_tool_calls(fields, message, error, out);
    if (out.contains("tool_calls")) {
      for (const Json& call : out["tool_calls"]) {
        called[call["id"].get<std::string>()] = call["function"]["name"].get<std::string>();
      }
    } else if (content == nullptr && !error) {
      fields.refuse("content", "is missing, expected a string or tool_calls",
                    "missing_required_parameter");
    }
  }
  if (role == "tool") {
    std::string id;
    fields.text("tool_call_id", id);
    if (!error && id.empty()) {
      fields.refuse("tool_call_id", "is missing", "missing_required_parameter");
    }
    out["tool_call_id"] = id;
    if (const auto found = called.find(id); found != called.end()) out["name"] = found->second;
  }
}

}  // namespace

bool is_tool_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

Json tool_call(const std::string& id, const std::string& name, const Json& arguments) {
  Json parsed = arguments;
  if (arguments.is_string()) {
    const auto& text = arguments.get_ref<const std::string&>();
    Json body;
    if (!parse_body(text, body)) parsed = std::move(body);
  }
  return {{"id", id},
          {"type", "function"},
          {"function", {{"name", name}, {"arguments", std::move(parsed)}}}};
}

std::string content_text(const Json& content, const std::string& path, const char* between,
                         std::optional<ApiError>& error) {
  if (error) return {};
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array() || content.size() > limits::messages_max) {
    error = ApiError{400,
                     content.is_array()
                         ? concat(path, " has ", content.size(), " parts, expected at most ",
                                  limits::messages_max)
                         : path + " is " + kind_of(content) + ", expected a string or parts",
                     path, "invalid_type"};
    return {};
  }
  std::string text;
  for (size_t i = 0; i < content.size() && !error; ++i) {
    const std::string part_path = concat(path, "[", i, "]");
    if (!content[i].is_object()) {
      error = ApiError{400, part_path + " is " + kind_of(content[i]) + ", expected an object",
                       part_path, "invalid_type"};
      break;
    }
    Fields part(content[i], part_path + ".", error);
    std::string type;
    std::string piece;
    part.text("type", type);
    if (!error && !is_text_part(type)) {
      part.refuse("type", "is " + text_of(type) + ", expected text: this model reads nothing else",
                  "unsupported_value");
    }
    const char* name = type == "refusal" ? "refusal" : "text";
    part.text(name, piece);
    if (!error && part.find(name) == nullptr) {
      part.refuse(name, "is missing, expected a string", "missing_required_parameter");
    }
    if (i > 0) text += between;
    text += piece;
  }
  return text;
}

Json openai_messages(const Json& messages, std::optional<ApiError>& error) {
  Json out = Json::array();
  std::map<std::string, std::string> called;  // id of a call -> name of its function
  for (size_t i = 0; i < messages.size() && !error; ++i) {
    Json message;
    read_message(messages[i], concat("messages[", i, "]"), error, called, message);
    out.push_back(std::move(message));
  }
  return out;
}

Json openai_tools(Fields& fields, std::optional<ApiError>& error) {
  Json out = Json::array();
  const Json* tools = fields.array("tools", limits::tools_max);
  for (size_t i = 0; tools != nullptr && i < tools->size() && !error; ++i) {
    Fields tool((*tools)[i], concat("tools[", i, "]."), error);
    std::string type;
    std::string name;
    tool.text("type", type);
    if (!error && type != "function") {
      tool.refuse("type", "is " + text_of(type) + ", expected function", "unsupported_value");
    }
    const Json* function = tool.object("function");
    if (function == nullptr) {
      tool.refuse("function", "is missing, expected an object", "missing_required_parameter");
      break;
    }
    Fields of(*function, tool.where("function."), error);
    of.text("name", name);
    if (!error && !is_tool_name(name)) {
      of.refuse("name", "is " + text_of(name) + ", expected 1 to 64 of a-z, A-Z, 0-9, _ and -");
    }
    std::string description;
    of.text("description", description);
    of.object("parameters");
    bool strict = false;
    of.flag("strict", strict);
    out.push_back((*tools)[i]);
  }
  const Json* choice = fields.find("tool_choice");
  if (choice == nullptr || error) return out;
  if (*choice == "none") return Json::array();
  if (*choice == "auto") return out;
  const bool is_known = *choice == "required" || choice->is_object();
  fields.refuse("tool_choice",
                is_known ? "forces a call, which this server cannot do yet; expected auto or none"
                         : "is " + text_of(*choice) + ", expected auto, none, required or a tool",
                is_known ? "unsupported_value" : "invalid_value");
  return out;
}

}  // namespace troupe::gateway
