// What the gateway answers: joins routes, readers of bodies, the cast and the shapes of replies.
// Knows no sockets and no actors: tests give it a cast of their own.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "actors/client.hpp"
#include "gateway/access.hpp"
#include "gateway/counts.hpp"
#include "gateway/generation.hpp"
#include "gateway/http.hpp"
#include "gateway/server.hpp"
#include "gateway/tenants.hpp"

namespace troupe::gateway {

/// The cluster as the gateway needs it. Every function returns at once.
struct Cast {
  std::function<uint64_t(actors::GenerateRequest, actors::GenerateHandlers)> generate;
  std::function<void(uint64_t id)> cancel;
  std::function<void(actors::GenerateRequest, bool bare,
                     std::function<void(Result<std::vector<int32_t>>)>)>
      tokenize;
  std::function<void(std::vector<int32_t>, std::function<void(Result<std::string>)>)> detokenize;
  /// Null as long as no front has told it.
  std::function<std::shared_ptr<const actors::ModelCard>()> card;
  /// Why no token could be produced now; empty: one could.
  std::function<std::string()> unready;
  /// Adds to /metrics what the gateway does not count itself.
  std::function<void(MetricFamilies&)> metrics;
  /// Runs something on the server's thread after so many milliseconds.
  std::function<void(int ms, std::function<void()>)> later;
};

class Service : public std::enable_shared_from_this<Service> {
 public:
  Service(AccessRules rules, Cast cast);

  /// Refuses by the head alone; see ServerHandler.
  bool refuse_head(HttpRequest& head, HttpReply& refusal);
  /// A request whose head was not refused.
  void handle(HttpRequest request, std::shared_ptr<Exchange> exchange);
  /// The body of an error that the server itself finds.
  HttpReply refusal(const HttpRequest& request, int status, const std::string& what);

  /// New generations get 503 from now on.
  void begin_drain() { is_draining_ = true; }
  Tenants& tenants() { return tenants_; }
  Counts& counts() { return counts_; }

 private:
  /// One request on its way through the service.
  struct Call {
    HttpRequest request;
    std::shared_ptr<Exchange> exchange;
    Target target;
    std::string tenant = "default";
    Dialect dialect = Dialect::openai;
    Headers headers;  ///< of the reply: request id, CORS
    TimeUs began_us = 0;
  };
  friend class Job;

  void answer(Call& call, HttpReply reply);
  void refuse(Call& call, const ApiError& error);
  void tell_models(Call& call);
  void tell_ready(Call& call);
  void tell_metrics(Call& call);
  void generate(std::shared_ptr<Call> call, const Json& body);
  void count_tokens(std::shared_ptr<Call> call, const Json& body);
  void tokenize(std::shared_ptr<Call> call, const Json& body);
  void detokenize(std::shared_ptr<Call> call, const Json& body);
  void take_body(std::shared_ptr<Call> call);
  [[nodiscard]] std::shared_ptr<const actors::ModelCard> card(Call& call);

  AccessRules rules_;
  Cast cast_;
  Tenants tenants_;
  Counts counts_;
  std::atomic<bool> is_draining_ = false;
  int64_t started_s_;
};

/// The service as its server wants it.
ServerHandler handler_of(const std::shared_ptr<Service>& service);
/// The field of a request that has its prompt.
const char* prompt_field(Route route);
/// 24 random hex digits.
std::string new_id();
/// The description of the API, as OpenAPI 3.1.
std::string openapi_text(const std::string& model);

}  // namespace troupe::gateway
