// Who may ask for what, decided from the head of a request alone: routes, keys, hosts, origins,
// media types. No sockets.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateway/api_error.hpp"
#include "gateway/http.hpp"
#include "gateway/keys.hpp"

namespace troupe::gateway {

/// What is asked for; the words stand in metrics too.
enum class Route : uint8_t {
  unknown,
  live,
  ready,
  metrics,
  openapi,
  models,
  model,
  chat,
  completion,
  messages,
  count_tokens,
  response,
  tokenize,
  detokenize,
};
const char* name(Route route);

struct Target {
  Route route = Route::unknown;
  std::string method;    ///< the one that it takes: GET (and HEAD) or POST
  std::string argument;  ///< of `model`: its id
};
/// By path. A path that is not known has the route `unknown`.
Target target_of(const std::string& path);

/// By path and headers: which API's errors the client understands.
Dialect dialect_of(const HttpRequest& request);

struct AccessRules {
  KeyTable keys;                             ///< empty: everybody, on loopback alone
  std::vector<std::string> allowed_hosts;    ///< beside loopback's names
  std::vector<std::string> allowed_origins;  ///< of web pages; "*": all, with keys only
};

struct Access {
  Target target;
  const Key* key = nullptr;  ///< null without keys
  std::optional<HttpReply> refusal;
};
/// Everything that the head decides.
Access check_head(const AccessRules& rules, const HttpRequest& request);

/// The CORS headers that belong to a reply, where the page may read it.
Headers cors_headers(const AccessRules& rules, const HttpRequest& request);

/// Errors: an address that is not loopback without any key.
Status check_listen(const std::string& address, const KeyTable& keys);

/// "127.0.0.1:8080" or "[::1]:8080": the host without its port.
std::string host_name(std::string_view host);
bool is_loopback_name(std::string_view host);

}  // namespace troupe::gateway
