// POST /v1/messages: the body as a generation, with blocks in the form that templates take.
#include <map>

#include "engine/sampling.hpp"
#include "gateway/cache_marks.hpp"
#include "gateway/chat_messages.hpp"
#include "gateway/generation.hpp"
#include "gateway/limits.hpp"

namespace troupe::gateway {
namespace {

/// One message of the API while its blocks are read.
struct Reader {
  std::optional<ApiError>& error;
  Json& out;                                  ///< messages as templates take them
  std::map<std::string, std::string> called;  ///< id of a call -> name of its tool
  CacheMarks& marks;
};

/// What is being gathered of one message.
struct Gathered {
  std::string text;
  bool has_text = false;
  std::string reasoning;
  Json calls = Json::array();
  std::vector<actors::CacheMark> marks;  ///< of the message's blocks
};

void add_text(Gathered& gathered, const std::string& text, const char* between) {
  if (gathered.has_text) gathered.text += between;
  gathered.text += text;
  gathered.has_text = true;
}

void flush(Reader& reader, const std::string& role, Gathered& gathered) {
  if (!gathered.has_text && gathered.calls.empty()) return;
  for (actors::CacheMark& mark : gathered.marks) {
    mark.index = static_cast<uint32_t>(reader.out.size());
    reader.marks.add(mark);
  }
  Json message = {{"role", role}, {"content", gathered.text}};
  if (!gathered.reasoning.empty()) message["reasoning_content"] = gathered.reasoning;
  if (!gathered.calls.empty()) message["tool_calls"] = gathered.calls;
  reader.out.push_back(std::move(message));
  gathered = {};
}

void read_text(Reader& reader, Fields& block, const char* between, Gathered& gathered) {
  std::string text;
  block.text("text", text);
  if (!reader.error && block.find("text") == nullptr) {
    block.refuse("text", "is missing, expected a string", "missing_required_parameter");
  }
  add_text(gathered, text, between);
  const uint32_t ttl_s = reader.marks.read(block);
  if (ttl_s == 0) return;
  if (text.empty()) block.refuse("cache_control", "cannot be set for empty text blocks");
  gathered.marks.push_back({false, 0, static_cast<uint32_t>(gathered.text.size()), ttl_s});
}

void read_tool_use(Reader& reader, Fields& block, Gathered& gathered) {
  std::string id;
  std::string name;
  block.text("id", id);
  block.text("name", name);
  const Json* input = block.object("input");
  if (reader.error) return;
  if (name.empty()) block.refuse("name", "is missing", "missing_required_parameter");
  reader.called[id] = name;
  gathered.calls.push_back(tool_call(id, name, input == nullptr ? Json::object() : *input));
  if (const uint32_t ttl_s = reader.marks.read(block))
    gathered.marks.push_back({false, 0, 0, ttl_s});
}

void read_tool_result(Reader& reader, Fields& block) {
  std::string id;
  block.text("tool_use_id", id);
  bool is_error = false;
  block.flag("is_error", is_error);
  const Json* content = block.find("content");
  std::string text =
      content == nullptr ? "" : content_text(*content, block.where("content"), "\n", reader.error);
  if (reader.error) return;
  if (id.empty()) block.refuse("tool_use_id", "is missing", "missing_required_parameter");
  uint32_t ttl_s =
      content == nullptr ? 0 : reader.marks.read_parts(*content, block.where("content"));
  ttl_s = std::max(ttl_s, reader.marks.read(block));
  if (ttl_s > 0) {
    reader.marks.add({false, static_cast<uint32_t>(reader.out.size()),
                      static_cast<uint32_t>(text.size()), ttl_s});
  }
  Json message = {{"role", "tool"}, {"content", std::move(text)}, {"tool_call_id", id}};
  if (const auto found = reader.called.find(id); found != reader.called.end()) {
    message["name"] = found->second;
  }
  reader.out.push_back(std::move(message));
}

void read_block(Reader& reader, const std::string& role, const Json& json, const std::string& path,
                Gathered& gathered) {
  if (!json.is_object()) {
    reader.error =
        ApiError{400, path + " is " + kind_of(json) + ", expected an object", path, "invalid_type"};
    return;
  }
  Fields block(json, path + ".", reader.error);
  std::string type;
  block.text("type", type);
  if (reader.error) return;
  const bool is_assistant = role == "assistant";
  if (type == "text") {
    read_text(reader, block, is_assistant ? "" : "\n", gathered);
  } else if (type == "tool_use" && is_assistant) {
    read_tool_use(reader, block, gathered);
  } else if (type == "tool_result" && role == "user") {
    flush(reader, role, gathered);
    read_tool_result(reader, block);
  } else if (type == "thinking" && is_assistant) {
    block.text("thinking", gathered.reasoning);
    if (reader.marks.read(block))
      block.refuse("cache_control", "cannot be set for thinking blocks");
  } else if (type == "redacted_thinking" && is_assistant) {
    // Nothing in it can be read.
  } else {
    block.refuse("type",
                 "is " + text_of(type) + " in a message of the role " + role +
                     ", expected text, tool_use, tool_result or thinking",
                 "unsupported_value");
  }
}

void read_message(Reader& reader, const Json& json, const std::string& path) {
  if (!json.is_object()) {
    reader.error =
        ApiError{400, path + " is " + kind_of(json) + ", expected an object", path, "invalid_type"};
    return;
  }
  Fields message(json, path + ".", reader.error);
  std::string role;
  message.text("role", role);
  const Json* content = message.find("content");
  if (reader.error) return;
  if (role != "user" && role != "assistant" && role != "system") {
    message.refuse("role", "is " + text_of(role) + ", expected user or assistant");
    return;
  }
  if (content == nullptr || !(content->is_string() || content->is_array())) {
    message.refuse("content", "is not there, expected a string or an array of blocks",
                   "missing_required_parameter");
    return;
  }
  Gathered gathered;
  if (content->is_string()) {
    add_text(gathered, content->get<std::string>(), "");
  } else if (content->size() > limits::messages_max) {
    message.refuse("content", concat("has ", content->size(), " blocks, expected at most ",
                                     limits::messages_max));
  } else {
    if (content->empty()) message.refuse("content", "is empty, expected at least one block");
    for (size_t i = 0; i < content->size() && !reader.error; ++i) {
      read_block(reader, role, (*content)[i], concat(path, ".content[", i, "]"), gathered);
    }
  }
  if (!reader.error) flush(reader, role, gathered);
}

/// A string or text blocks; as a message of its own, so that both tokenise alike.
void read_system(Fields& fields, Reader& reader) {
  const Json* system = fields.find("system");
  if (system == nullptr) return;
  const std::string text = content_text(*system, "system", "\n", reader.error);
  size_t bytes = 0;
  for (size_t i = 0; system->is_array() && i < system->size() && !reader.error; ++i) {
    Fields block((*system)[i], concat("system[", i, "]."), reader.error);
    std::string piece;
    block.text("text", piece);
    bytes += piece.size() + (i > 0 ? 1 : 0);
    const uint32_t ttl_s = reader.marks.read(block);
    if (ttl_s == 0) continue;
    if (piece.empty()) block.refuse("cache_control", "cannot be set for empty text blocks");
    reader.marks.add({false, 0, static_cast<uint32_t>(bytes), ttl_s});
  }
  if (!reader.error && !text.empty()) {
    reader.out.push_back({{"role", "system"}, {"content", text}});
  }
}

/// In OpenAI's form, which templates take.
Json read_tools(Fields& fields, Reader& reader) {
  Json out = Json::array();
  const Json* tools = fields.array("tools", limits::tools_max);
  for (size_t i = 0; tools != nullptr && i < tools->size() && !reader.error; ++i) {
    Fields tool((*tools)[i], concat("tools[", i, "]."), reader.error);
    std::string type = "custom";
    std::string name;
    std::string description;
    tool.text("type", type);
    tool.text("name", name);
    tool.text("description", description);
    const Json* schema = tool.object("input_schema");
    const uint32_t ttl_s = reader.marks.read(tool);
    if (ttl_s > 0) reader.marks.add({true, static_cast<uint32_t>(i), 0, ttl_s});
    if (reader.error) break;
    if (type != "custom") {
      tool.refuse("type", "is " + text_of(type) + ", a tool that this server does not run",
                  "unsupported_value");
    } else if (!is_tool_name(name)) {
      tool.refuse("name", "is " + text_of(name) + ", expected 1 to 64 of a-z, A-Z, 0-9, _ and -");
    } else if (schema == nullptr) {
      tool.refuse("input_schema", "is missing, expected a JSON schema",
                  "missing_required_parameter");
    } else {
      Json function = {{"name", name}};
      if (!description.empty()) function["description"] = description;
      function["parameters"] = *schema;
      out.push_back({{"type", "function"}, {"function", std::move(function)}});
    }
  }
  const Json* choice = fields.object("tool_choice");
  if (choice == nullptr || reader.error) return out;
  Fields of(*choice, "tool_choice.", reader.error);
  std::string type;
  of.text("type", type);
  if (type == "none") return Json::array();
  if (type == "any" || type == "tool") {
    of.refuse("type",
              "is " + text_of(type) +
                  ", which forces a call: this server cannot do that "
                  "yet, expected auto or none",
              "unsupported_value");
  } else if (type != "auto") {
    of.refuse("type", "is " + text_of(type) + ", expected auto, any, tool or none");
  }
  return out;
}

void read_thinking(Fields& fields, std::optional<ApiError>& error) {
  const Json* thinking = fields.object("thinking");
  if (thinking == nullptr) return;
  Fields of(*thinking, "thinking.", error);
  std::string type;
  of.text("type", type);
  if (!error && type != "enabled" && type != "disabled" && type != "adaptive") {
    of.refuse("type", "is " + text_of(type) + ", expected enabled, adaptive or disabled");
  }
}

/// Accepted: they change nothing here, or speak of services that other servers have.
void read_other_fields(Fields& fields, std::optional<ApiError>& error) {
  read_thinking(fields, error);
  fields.object("metadata");
  fields.object("context_management");
  fields.find("betas");
  std::string ignored;
  fields.text("service_tier", ignored);
  if (const Json* config = fields.object("output_config")) {
    Fields of(*config, "output_config.", error);
    of.text("effort", ignored);
    read_response_format(of, "format", of.object("format"));
  }
  read_response_format(fields, "output_format", fields.object("output_format"));
  if (const Json* servers = fields.array("mcp_servers", limits::tools_max);
      servers != nullptr && !servers->empty()) {
    fields.refuse("mcp_servers", "is not supported here", "unsupported_parameter");
  }
}

void read_draw(Fields& fields, const actors::ModelCard& card, bool counts_only,
               actors::GenerateRequest& request) {
  engine::SamplingParams& sampling = request.sampling;
  uint32_t wanted = output_max(card);
  const bool is_given = fields.whole("max_tokens", 1, INT32_MAX, wanted);
  if (!is_given && !counts_only && !fields.failed()) {
    fields.refuse("max_tokens", "is missing, expected a whole number from 1",
                  "missing_required_parameter");
  }
  // Agents ask for the longest output of the models that they know.
  sampling.max_tokens = std::min(wanted, output_max(card));
  fields.real("temperature", 0, 2, sampling.temperature);
  fields.real("top_p", 0, 1, sampling.top_p, true);
  fields.whole("top_k", 0, INT32_MAX, sampling.top_k);
  request.has_seed = fields.whole("seed", INT64_MIN, INT64_MAX, sampling.seed);
  read_stop(fields, "stop_sequences", request.stop);
}

}  // namespace

std::optional<ApiError> parse_messages(const Json& body, const actors::ModelCard& card,
                                       bool counts_only, Generation& out) {
  std::optional<ApiError> error;
  Fields fields(body, "", error);
  read_model(fields, card, out.model, error);
  actors::GenerateRequest request;
  Json chat = {{"messages", Json::array()}};
  CacheMarks marks(error);
  Reader reader{error, chat["messages"], {}, marks};
  Json tools = read_tools(fields, reader);
  read_system(fields, reader);
  const Json* messages = fields.array("messages", limits::messages_max);
  if (!error && (messages == nullptr || messages->empty())) {
    fields.refuse("messages", "has no message, expected at least one");
  }
  for (size_t i = 0; messages != nullptr && i < messages->size() && !error; ++i) {
    read_message(reader, (*messages)[i], concat("messages[", i, "]"));
  }
  marks.read_automatic(fields, chat["messages"]);
  request.cache_marks = marks.take();
  if (!error && messages->back().value("role", "") == "assistant") {
    fields.refuse("messages",
                  "ends with an assistant's message; this model does not continue one, "
                  "expected the user's last",
                  "unsupported_value");
  }
  read_draw(fields, card, counts_only, request);
  fields.flag("stream", out.stream);
  read_other_fields(fields, error);
  if (error) return error;
  return finish_chat(fields, card, "messages", std::move(chat), std::move(tools),
                     std::move(request), out);
}

}  // namespace troupe::gateway
