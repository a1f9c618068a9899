#include "gateway/api_error.hpp"

#include <array>

#include "actors/client.hpp"
#include "gateway/json.hpp"

namespace troupe::gateway {
namespace {

/// Parameters that the sentences of the cast begin with.
constexpr std::array params = {"logit_bias",
                               "max_tokens",
                               "min_tokens",
                               "temperature",
                               "top_k",
                               "top_p",
                               "min_p",
                               "repetition_penalty",
                               "presence_penalty",
                               "frequency_penalty",
                               "top_logprobs",
                               "stop",
                               "n "};

constexpr const char* context_code = "context_length_exceeded";

/// Clients that shorten a conversation and try again know this refusal by words of the first
/// servers that said it.
std::string message_of(const ApiError& error, Dialect dialect) {
  if (error.code != context_code) return error.message;
  return (dialect == Dialect::openai ? "this model's maximum context length is exceeded: "
                                     : "prompt is too long: ") +
         error.message;
}

std::string param_in(const std::string& what) {
  for (const std::string param : params) {
    if (what.starts_with(param)) return param == "n " ? "n" : param;
  }
  if (what.starts_with("the number of logit_bias")) return "logit_bias";
  if (what.find("stop string") != std::string::npos) return "stop";
  return {};
}

}  // namespace

ApiError to_api(const Error& error, const std::string& prompt_field) {
  ApiError api;
  api.message = error.message();
  switch (error.code) {
    case Code::invalid_argument:
    case Code::corrupt:
    case Code::unsupported:
      api.param = param_in(error.what);
      if (actors::is_context_exceeded(error)) {
        api.code = context_code;
        api.param = prompt_field;
      }
      if (error.what == "the prompt is empty") api.param = prompt_field;
      break;
    case Code::not_found:
      api.status = 404;
      api.code = "model_not_found";
      api.param = "model";
      break;
    case Code::exhausted:
      api.status = 429;
      api.code = "overloaded";
      api.retry_after_s = 1;
      break;
    case Code::unavailable:
      api.status = 503;
      api.code = "unavailable";
      api.retry_after_s = 1;
      break;
    case Code::timeout:
      api.status = 503;
      api.code = "timeout";
      api.retry_after_s = 1;
      break;
    default:
      api.status = 500;
      api.code = "internal";
  }
  return api;
}

std::string type_of(const ApiError& error, Dialect dialect) {
  const bool is_openai = dialect == Dialect::openai;
  switch (error.status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return is_openai ? "invalid_request_error" : "not_found_error";
    case 413:
      return is_openai ? "invalid_request_error" : "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return is_openai ? "server_error" : "overloaded_error";
    default:
      if (error.status < 500) return "invalid_request_error";
      return is_openai ? "server_error" : "api_error";
  }
}

std::string body_of(const ApiError& error, Dialect dialect) {
  Json body;
  if (dialect == Dialect::openai) {
    const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
    body["error"] = {{"message", message_of(error, dialect)},
                     {"type", type_of(error, dialect)},
                     {"param", or_null(error.param)},
                     {"code", or_null(error.code)}};
  } else {
    std::string message = message_of(error, dialect);
    if (error.code != context_code && !error.param.empty() &&
        message.find(error.param) == std::string::npos) {
      message = error.param + ": " + message;
    }
    body["type"] = "error";
    body["error"] = {{"type", type_of(error, dialect)}, {"message", message}};
  }
  return text_of(body);
}

HttpReply reply_of(const ApiError& error, Dialect dialect) {
  HttpReply reply;
  reply.status = error.status;
  reply.body = body_of(error, dialect);
  if (error.retry_after_s > 0) {
    reply.headers.emplace_back("retry-after", std::to_string(error.retry_after_s));
  }
  if (error.status == 401) reply.headers.emplace_back("www-authenticate", "Bearer");
  return reply;
}

}  // namespace troupe::gateway
