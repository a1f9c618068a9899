// Messages and tools of the APIs in the form that chat templates take: content is text, arguments
// of tool calls are objects. Internal to the gateway's readers.
#pragma once

#include <optional>
#include <string>

#include "gateway/json.hpp"

namespace troupe::gateway {

struct Generation;

/// Messages of OpenAI's chat API. Errors name message and field.
Json openai_messages(const Json& messages, std::optional<ApiError>& error);
/// `tools` as OpenAI writes them, which is what templates take; an empty array when there are none
/// or tool_choice is "none". A tool_choice that would have to be enforced is refused.
Json openai_tools(Fields& fields, std::optional<ApiError>& error);
/// A function's call, {"id", "type", "function": {"name", "arguments"}}; arguments that are no JSON
/// object stay text.
Json tool_call(const std::string& id, const std::string& name, const Json& arguments);
/// Content that is a string or parts of {"type": "text"}: the text; parts are joined with
/// `between`. `kinds` are the legal types of parts.
std::string content_text(const Json& content, const std::string& path, const char* between,
                         std::optional<ApiError>& error);

void read_stream(Fields& fields, std::optional<ApiError>& error, Generation& out);
/// Formats that would have to be enforced are refused.
void read_response_format(Fields& fields, const char* name, const Json* format);
/// chat_template_kwargs and reasoning_effort.
void read_template_variables(Fields& fields, Json& chat);
/// A function's name: 1 to 64 of a-z, A-Z, 0-9, _ and -.
bool is_tool_name(const std::string& name);

}  // namespace troupe::gateway
