#include "gateway/access.hpp"

#include <algorithm>
#include <array>

#include "base/concat.hpp"

namespace troupe::gateway {
namespace {

struct Entry {
  const char* path;
  Route route;
  const char* method;
  const char* name;
};
constexpr std::array routes = {
    Entry{"/health/live", Route::live, "GET", "live"},
    Entry{"/health/ready", Route::ready, "GET", "ready"},
    Entry{"/metrics", Route::metrics, "GET", "metrics"},
    Entry{"/openapi.json", Route::openapi, "GET", "openapi"},
    Entry{"/v1/models", Route::models, "GET", "models"},
    Entry{"/v1/models/", Route::model, "GET", "model"},
    Entry{"/v1/chat/completions", Route::chat, "POST", "chat_completions"},
    Entry{"/v1/completions", Route::completion, "POST", "completions"},
    Entry{"/v1/messages", Route::messages, "POST", "messages"},
    Entry{"/v1/messages/count_tokens", Route::count_tokens, "POST", "count_tokens"},
    Entry{"/v1/responses", Route::response, "POST", "responses"},
    Entry{"/tokenize", Route::tokenize, "POST", "tokenize"},
    Entry{"/detokenize", Route::detokenize, "POST", "detokenize"},
};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

int code_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Names of models may hold a slash, which clients write as %2F.
std::string percent_decoded(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string digits = lower(std::string_view(text).substr(i).substr(0, 3));
    const bool is_code = digits.size() == 3 && digits[0] == '%' && code_digit(digits[1]) >= 0 &&
                         code_digit(digits[2]) >= 0;
    out +=
        is_code ? static_cast<char>(code_digit(digits[1]) * 16 + code_digit(digits[2])) : text[i];
    if (is_code) i += 2;
  }
  return out;
}

std::string_view presented_key(const HttpRequest& request) {
  const std::string_view bearer = request.header("authorization");
  if (lower(bearer.substr(0, 7)) == "bearer ") return bearer.substr(7);
  return request.header("x-api-key");
}

HttpReply refuse(const HttpRequest& request, int status, const std::string& message,
                 const std::string& code) {
  return reply_of({status, message, {}, code}, dialect_of(request));
}

bool is_allowed_origin(const AccessRules& rules, std::string_view origin) {
  return std::ranges::any_of(rules.allowed_origins, [&](const std::string& allowed) {
    return allowed == origin || (allowed == "*" && !rules.keys.empty());
  });
}

/// A page of another site may reach a loopback server through the user's browser, under a name of
/// its own or with its own origin.
std::optional<HttpReply> check_site(const AccessRules& rules, const HttpRequest& request) {
  const auto is_host = [](const auto& header) { return header.first == "host"; };
  if (std::ranges::count_if(request.headers, is_host) > 1) {
    return refuse(request, 400, "the request has several Host headers", "invalid_host");
  }
  const std::string host = host_name(request.header("host"));
  const bool checks_host = rules.keys.empty() || !rules.allowed_hosts.empty();
  if (checks_host && !is_loopback_name(host) &&
      std::ranges::find(rules.allowed_hosts, host) == rules.allowed_hosts.end()) {
    return refuse(request, 403, "the Host header names a host that this server is not",
                  "host_not_allowed");
  }
  const std::string_view origin = request.header("origin");
  if (rules.keys.empty() && !origin.empty() && !is_allowed_origin(rules, origin)) {
    return refuse(request, 403, "pages of this origin may not ask here", "origin_not_allowed");
  }
  return std::nullopt;
}

/// What a page may send: all that it asks for, as the SDKs have headers of their own.
std::string headers_asked_for(const HttpRequest& request) {
  const std::string asked = lower(request.header("access-control-request-headers"));
  const bool is_list =
      asked.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_, ") == std::string::npos;
  if (!asked.empty() && is_list) return asked;
  return "authorization, content-type, x-api-key, anthropic-version, anthropic-beta";
}

HttpReply preflight(const AccessRules& rules, const HttpRequest& request) {
  HttpReply reply;
  reply.status = 204;
  reply.content_type.clear();
  reply.headers = {{"allow", "GET, HEAD, POST, OPTIONS"}};
  if (cors_headers(rules, request).empty()) return reply;
  reply.headers.emplace_back("access-control-allow-methods", "GET, POST");
  reply.headers.emplace_back("access-control-allow-headers", headers_asked_for(request));
  reply.headers.emplace_back("access-control-max-age", "600");
  return reply;
}

std::optional<HttpReply> check_method(const Target& target, const HttpRequest& request) {
  if (target.route == Route::unknown) {
    return refuse(request, 404, "there is nothing at this path", "not_found");
  }
  const bool fits =
      request.method == target.method || (request.method == "HEAD" && target.method == "GET");
  if (fits) return std::nullopt;
  HttpReply reply = refuse(request, 405, concat("this path takes ", target.method, " only"),
                           "method_not_allowed");
  reply.headers.emplace_back("allow", target.method == "GET" ? "GET, HEAD" : "POST");
  return reply;
}

std::optional<HttpReply> check_media(const HttpRequest& request) {
  const std::string encoding = lower(request.header("content-encoding"));
  const std::string transfer = lower(request.header("transfer-encoding"));
  const bool is_plain =
      (encoding.empty() || encoding == "identity") && (transfer.empty() || transfer == "chunked");
  if (!is_plain) {
    return refuse(request, 415, "a body in another coding is not read; send it plain",
                  "unsupported_media_type");
  }
  const std::string type = lower(request.header("content-type"));
  const std::string media = type.substr(0, type.find(';'));
  const std::string trimmed = media.substr(0, media.find_last_not_of(' ') + 1);
  if (trimmed.empty() || trimmed == "application/json" || trimmed.ends_with("+json")) {
    return std::nullopt;
  }
  return refuse(request, 415, "the Content-Type is not application/json", "unsupported_media_type");
}

std::optional<HttpReply> check_key(const AccessRules& rules, const HttpRequest& request,
                                   Access& access) {
  if (rules.keys.empty()) return std::nullopt;
  const std::string_view given = presented_key(request);
  access.key = rules.keys.find(given);
  if (access.key == nullptr) {
    return refuse(request, 401,
                  given.empty() ? "a key is needed: Authorization: Bearer KEY, or x-api-key: KEY"
                                : "the key is not known here",
                  "invalid_api_key");
  }
  const bool observes = access.target.route == Route::metrics;
  const bool is_health = access.target.route == Route::ready;
  if (observes ? access.key->is_observer : is_health || !access.key->is_observer_only) {
    return std::nullopt;
  }
  return refuse(request, 403,
                concat("this key has not the role ", observes ? "observer" : "client"),
                "role_missing");
}

}  // namespace

const char* name(Route route) {
  for (const Entry& entry : routes) {
    if (entry.route == route) return entry.name;
  }
  return "unknown";
}

Target target_of(const std::string& path) {
  Target target;
  for (const Entry& entry : routes) {
    if (path != entry.path || entry.route == Route::model) continue;
    return {entry.route, entry.method, {}};
  }
  constexpr std::string_view models = "/v1/models/";
  if (path.starts_with(models) && path.size() > models.size()) {
    return {Route::model, "GET", percent_decoded(path.substr(models.size()))};
  }
  return target;
}

Dialect dialect_of(const HttpRequest& request) {
  const bool is_anthropic =
      request.path.starts_with("/v1/messages") || !request.header("anthropic-version").empty();
  return is_anthropic ? Dialect::anthropic : Dialect::openai;
}

Access check_head(const AccessRules& rules, const HttpRequest& request) {
  Access access;
  access.target = target_of(request.path);
  if (access.target.route == Route::live && request.method != "OPTIONS") {
    access.refusal = check_method(access.target, request);
    return access;
  }
  access.refusal = check_site(rules, request);
  if (access.refusal) return access;
  if (request.method == "OPTIONS") {
    access.refusal = preflight(rules, request);
    return access;
  }
  access.refusal = check_key(rules, request, access);
  if (!access.refusal) access.refusal = check_method(access.target, request);
  if (!access.refusal && request.method == "POST") access.refusal = check_media(request);
  return access;
}

Headers cors_headers(const AccessRules& rules, const HttpRequest& request) {
  const std::string_view origin = request.header("origin");
  if (origin.empty() || !is_allowed_origin(rules, origin)) return {};
  return {{"access-control-allow-origin", std::string(origin)},
          {"access-control-expose-headers", "request-id, x-request-id, retry-after"},
          {"vary", "origin"}};
}

std::string host_name(std::string_view host) {
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    return lower(host.substr(1, end == std::string_view::npos ? end : end - 1));
  }
  return lower(host.substr(0, host.find(':')));
}

bool is_loopback_name(std::string_view host) {
  const bool is_v4 =
      host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos;
  return host == "localhost" || host == "::1" || is_v4;
}

Status check_listen(const std::string& address, const KeyTable& keys) {
  if (!keys.empty() || address == "::1" || (is_loopback_name(address) && address != "localhost")) {
    return {};
  }
  return error(Code::invalid_argument,
               concat("the gateway would listen on ", address, " without any key"),
               "give --api-key-file or TROUPE_API_KEY, or listen on 127.0.0.1");
}

}  // namespace troupe::gateway
