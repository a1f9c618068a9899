// What a request to one of the APIs asks for, checked and in the words of the cast.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "actors/client.hpp"
#include "gateway/json.hpp"

namespace troupe::gateway {

struct Generation {
  std::string model;  ///< as the client called it
  /// One of them, but for completions of several prompts.
  std::vector<actors::GenerateRequest> requests;
  /// With echo: the text before each output.
  std::vector<std::string> echoes;
  bool stream = false;
  bool include_usage = false;
  bool logprobs = false;
  uint32_t top_logprobs = 0;
  std::vector<std::string> stop;
  std::vector<std::string> unknown;  ///< fields that are ignored
  Json echo_fields;                  ///< what the reply repeats of the request (responses)
};

/// The sampling parameters that both OpenAI's APIs take; `fields` keeps the mistake.
void read_sampling(Fields& fields, const actors::ModelCard& card, actors::GenerateRequest& request);
/// A string or an array of strings.
void read_stop(Fields& fields, const char* name, std::vector<std::string>& stop);
/// The model that is asked for must be the one that is served: 404 otherwise.
void read_model(Fields& fields, const actors::ModelCard& card, std::string& model,
                std::optional<ApiError>& error);
/// The longest output that any request may ask for.
uint32_t output_max(const actors::ModelCard& card);
/// The end of every reader of a conversation: what the cast gets, once nothing was refused.
/// `param`: the field with the conversation.
std::optional<ApiError> finish_chat(const Fields& fields, const actors::ModelCard& card,
                                    const char* param, Json chat, Json tools,
                                    actors::GenerateRequest request, Generation& out);

/// POST /v1/chat/completions. Errors name the field.
std::optional<ApiError> parse_chat(const Json& body, const actors::ModelCard& card,
                                   Generation& out);
/// POST /v1/completions.
std::optional<ApiError> parse_completion(const Json& body, const actors::ModelCard& card,
                                         Generation& out);
/// POST /v1/messages; for count_tokens max_tokens may be absent.
std::optional<ApiError> parse_messages(const Json& body, const actors::ModelCard& card,
                                       bool counts_only, Generation& out);
/// POST /v1/responses.
std::optional<ApiError> parse_response(const Json& body, const actors::ModelCard& card,
                                       Generation& out);

}  // namespace troupe::gateway
