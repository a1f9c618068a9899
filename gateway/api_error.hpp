// Why a request got no answer, in the shapes that the clients of both APIs know.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "gateway/http.hpp"

namespace troupe::gateway {

enum class Dialect : uint8_t { openai, anthropic };

struct ApiError {
  int status = 400;
  std::string message;
  std::string param;  ///< the field that is wrong, e.g. "messages[2].role"; empty: none
  std::string code;   ///< what programs branch on, e.g. "context_length_exceeded"; empty: none
  int retry_after_s = 0;
};

/// What went wrong behind the gateway. Errors of the caller's making are 400, 404 or 413; the field
/// is found where the sentence names it; `prompt_field` is the one with the prompt.
ApiError to_api(const Error& error, const std::string& prompt_field = "messages");

/// "invalid_request_error" and its like.
std::string type_of(const ApiError& error, Dialect dialect);
/// One JSON object.
std::string body_of(const ApiError& error, Dialect dialect);
HttpReply reply_of(const ApiError& error, Dialect dialect);

}  // namespace troupe::gateway
