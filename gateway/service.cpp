#include "gateway/service.hpp"

#include <ctime>

#include "actors/runtime.hpp"
#include "gateway/job.hpp"
#include "gateway/limits.hpp"

namespace troupe::gateway {
namespace {

bool generates(Route route) {
  return route == Route::chat || route == Route::completion || route == Route::messages ||
         route == Route::response;
}

std::optional<ApiError> parse(Route route, const Json& body, const actors::ModelCard& card,
                              Generation& out) {
  switch (route) {
    case Route::chat:
      return parse_chat(body, card, out);
    case Route::completion:
      return parse_completion(body, card, out);
    case Route::messages:
      return parse_messages(body, card, false, out);
    default:
      return parse_response(body, card, out);
  }
}

std::unique_ptr<Shape> shape_for(Route route, const Generation& generation, ReplyFacts facts) {
  switch (route) {
    case Route::chat:
      return chat_shape(generation, std::move(facts));
    case Route::completion:
      return completion_shape(generation, std::move(facts));
    case Route::messages:
      return messages_shape(generation, std::move(facts));
    default:
      return response_shape(generation, std::move(facts));
  }
}

std::string iso_time(int64_t unix_s) {
  const auto time = static_cast<std::time_t>(unix_s);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace

const char* prompt_field(Route route) {
  switch (route) {
    case Route::completion:
    case Route::tokenize:
      return "prompt";
    case Route::response:
      return "input";
    default:
      return "messages";
  }
}

std::string new_id() {
  constexpr const char* digits = "0123456789abcdef";
  std::string id;
  for (int word = 0; word < 2; ++word) {
    uint64_t bits = actors::random_u64();
    for (int i = 0; i < 12; ++i, bits >>= 4) id += digits[bits & 15];
  }
  return id;
}

Service::Service(AccessRules rules, Cast cast)
    : rules_(std::move(rules)), cast_(std::move(cast)), started_s_(std::time(nullptr)) {}

ServerHandler handler_of(const std::shared_ptr<Service>& service) {
  ServerHandler handler;
  handler.refuse_head = [service](HttpRequest& head, HttpReply& refusal) {
    return service->refuse_head(head, refusal);
  };
  handler.handle = [service](HttpRequest request, std::shared_ptr<Exchange> to) {
    service->handle(std::move(request), std::move(to));
  };
  handler.refusal = [service](const HttpRequest& request, int status, const std::string& what) {
    return service->refusal(request, status, what);
  };
  return handler;
}

bool Service::refuse_head(HttpRequest& head, HttpReply& refusal) {
  auto found = std::make_shared<Access>(check_head(rules_, head));
  Access& access = *found;
  if (!access.refusal && is_draining_ && head.method == "POST") {
    access.refusal =
        reply_of({503, "this server is being stopped", {}, "draining", 1}, dialect_of(head));
  }
  if (!access.refusal) {
    head.note = std::move(found);
    return false;
  }
  refusal = std::move(*access.refusal);
  for (auto& header : cors_headers(rules_, head)) refusal.headers.push_back(std::move(header));
  counts_.reply(name(access.target.route), refusal.status, 0);
  return true;
}

HttpReply Service::refusal(const HttpRequest& request, int status, const std::string& what) {
  counts_.reply(name(target_of(request.path).route), status, 0);
  ApiError error{status, what, {}, std::string(reason_of(status)), status == 503 ? 1 : 0};
  for (char& c : error.code) c = c == ' ' ? '_' : c;
  return reply_of(error, dialect_of(request));
}

void Service::answer(Call& call, HttpReply reply) {
  reply.headers.insert(reply.headers.end(), call.headers.begin(), call.headers.end());
  counts_.reply(name(call.target.route), reply.status,
                static_cast<double>(now_us() - call.began_us) / 1e6);
  call.exchange->reply(std::move(reply));
}

void Service::refuse(Call& call, const ApiError& error) {
  answer(call, reply_of(error, call.dialect));
}

std::shared_ptr<const actors::ModelCard> Service::card(Call& call) {
  auto known = cast_.card();
  if (!known) refuse(call, {503, "no front has told its model yet", {}, "unavailable", 1});
  return known;
}

void Service::tell_models(Call& call) {
  const auto known = card(call);
  if (!known) return;
  const bool is_anthropic = call.dialect == Dialect::anthropic;
  const Json model = is_anthropic ? Json{{"type", "model"},
                                         {"id", known->name},
                                         {"display_name", known->name},
                                         {"created_at", iso_time(started_s_)}}
                                  : Json{{"id", known->name},
                                         {"object", "model"},
                                         {"created", started_s_},
                                         {"owned_by", "troupe"},
                                         {"max_model_len", known->context_max}};
  HttpReply reply;
  if (call.target.route == Route::model) {
    if (call.target.argument != known->name) {
      refuse(call, {404, concat("the model ", text_of(call.target.argument), " does not exist"),
                    "model", "model_not_found"});
      return;
    }
    reply.body = text_of(model);
  } else if (is_anthropic) {
    reply.body = text_of({{"data", Json::array({model})},
                          {"has_more", false},
                          {"first_id", known->name},
                          {"last_id", known->name}});
  } else {
    reply.body = text_of({{"object", "list"}, {"data", Json::array({model})}});
  }
  answer(call, std::move(reply));
}

void Service::tell_ready(Call& call) {
  const std::string why = is_draining_ ? "it is being stopped" : cast_.unready();
  HttpReply reply;
  reply.status = why.empty() ? 200 : 503;
  reply.body = text_of(why.empty() ? Json{{"status", "ready"}}
                                   : Json{{"status", "not ready"}, {"reason", why}});
  answer(call, std::move(reply));
}

void Service::tell_metrics(Call& call) {
  HttpReply reply;
  reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
  MetricFamilies families;
  counts_.tell(families);
  cast_.metrics(families);
  reply.body = families.page();
  answer(call, std::move(reply));
}

void Service::handle(HttpRequest request, std::shared_ptr<Exchange> exchange) {
  auto call = std::make_shared<Call>();
  call->began_us = now_us();
  const Access& access = *static_cast<const Access*>(request.note.get());
  call->target = access.target;
  if (access.key != nullptr) call->tenant = access.key->tenant;
  call->dialect = dialect_of(request);
  call->headers = cors_headers(rules_, request);
  const std::string id = "req_" + new_id();
  call->headers.emplace_back("request-id", id);
  call->headers.emplace_back("x-request-id", id);
  call->request = std::move(request);
  call->exchange = std::move(exchange);
  switch (call->target.route) {
    case Route::live:
      answer(*call, {200, "application/json", R"({"status":"live"})", {}});
      return;
    case Route::ready:
      tell_ready(*call);
      return;
    case Route::metrics:
      tell_metrics(*call);
      return;
    case Route::openapi: {
      const auto known = cast_.card();
      answer(*call, {200, "application/json", openapi_text(known ? known->name : "model"), {}});
      return;
    }
    case Route::models:
    case Route::model:
      tell_models(*call);
      return;
    default:
      take_body(std::move(call));
  }
}

void Service::take_body(std::shared_ptr<Call> call) {
  Json body;
  if (const auto error = parse_body(call->request.body, body)) {
    refuse(*call, *error);
    return;
  }
  call->request.body = std::string();
  if (generates(call->target.route)) {
    generate(std::move(call), body);
  } else if (call->target.route == Route::count_tokens) {
    count_tokens(std::move(call), body);
  } else if (call->target.route == Route::tokenize) {
    tokenize(std::move(call), body);
  } else {
    detokenize(std::move(call), body);
  }
}

void Service::generate(std::shared_ptr<Call> call, const Json& body) {
  const auto known = card(*call);
  if (!known) return;
  Generation generation;
  if (const auto error = parse(call->target.route, body, *known, generation)) {
    refuse(*call, *error);
    return;
  }
  if (const auto error = tenants_.begin(call->tenant, now_us())) {
    refuse(*call, *error);
    return;
  }
  for (actors::GenerateRequest& request : generation.requests) request.tenant = call->tenant;
  counts_.unknown_fields(generation.unknown);
  counts_.parsed(static_cast<double>(now_us() - call->began_us) / 1e6);
  ReplyFacts facts{new_id(), std::time(nullptr), known};
  auto shape = shape_for(call->target.route, generation, std::move(facts));
  auto job = std::make_shared<Job>(shared_from_this(), std::move(call), std::move(shape),
                                   generation.stream, generation.requests.size());
  job->start(std::move(generation.requests));
}

void Service::count_tokens(std::shared_ptr<Call> call, const Json& body) {
  const auto known = card(*call);
  if (!known) return;
  Generation generation;
  if (const auto error = parse_messages(body, *known, true, generation)) {
    refuse(*call, *error);
    return;
  }
  generation.requests.at(0).tenant = call->tenant;
  cast_.tokenize(std::move(generation.requests.at(0)), false,
                 [self = shared_from_this(), call](Result<std::vector<int32_t>> tokens) {
                   if (!tokens) {
                     self->refuse(*call, to_api(tokens.error(), prompt_field(call->target.route)));
                     return;
                   }
                   HttpReply reply;
                   reply.body = text_of({{"input_tokens", tokens->size()}});
                   self->answer(*call, std::move(reply));
                 });
}

void Service::tokenize(std::shared_ptr<Call> call, const Json& body) {
  const auto known = card(*call);
  if (!known) return;
  std::optional<ApiError> error;
  Fields fields(body, "", error);
  actors::GenerateRequest request;
  bool adds_special = true;
  fields.flag("add_special_tokens", adds_special);
  fields.flag("parse_special", request.parse_special);
  for (const char* field : {"prompt", "text", "content"}) {
    if (fields.find(field) == nullptr) continue;
    std::string text;
    fields.text(field, text);
    if (request.text) fields.refuse(field, "is a second text, expected one");
    request.text = std::move(text);
  }
  if (const Json* messages = fields.array("messages", limits::messages_max)) {
    if (request.text) fields.refuse("messages", "is beside a text, expected one of them");
    Json chat = {{"messages", *messages}};
    request.chat_json = text_of(chat);
  } else if (!request.text) {
    fields.refuse("prompt", "is missing, expected a string", "missing_required_parameter");
  }
  if (error) {
    refuse(*call, *error);
    return;
  }
  request.tenant = call->tenant;
  cast_.tokenize(std::move(request), !adds_special,
                 [self = shared_from_this(), call, known](Result<std::vector<int32_t>> tokens) {
                   if (!tokens) {
                     self->refuse(*call, to_api(tokens.error(), prompt_field(call->target.route)));
                     return;
                   }
                   HttpReply reply;
                   reply.body = text_of({{"tokens", *tokens},
                                         {"count", tokens->size()},
                                         {"max_model_len", known->context_max}});
                   self->answer(*call, std::move(reply));
                 });
}

void Service::detokenize(std::shared_ptr<Call> call, const Json& body) {
  const auto known = card(*call);
  if (!known) return;
  std::optional<ApiError> error;
  Fields fields(body, "", error);
  std::vector<int32_t> ids;
  const Json* tokens = fields.array("tokens", known->context_max);
  if (tokens == nullptr) {
    fields.refuse("tokens", "is missing, expected an array of token ids",
                  "missing_required_parameter");
  } else {
    for (const Json& id : *tokens) {
      const bool is_id = id.is_number_integer() && id.get<int64_t>() >= 0 &&
                         id.get<int64_t>() < int64_t{known->vocab_size};
      if (!is_id) {
        fields.refuse("tokens", concat("has ", text_of(id), ", expected ids from 0 to ",
                                       known->vocab_size - 1));
        break;
      }
      ids.push_back(id.get<int32_t>());
    }
  }
  if (error) {
    refuse(*call, *error);
    return;
  }
  cast_.detokenize(std::move(ids), [self = shared_from_this(), call](Result<std::string> text) {
    if (!text) {
      self->refuse(*call, to_api(text.error()));
      return;
    }
    HttpReply reply;
    reply.body = text_of({{"prompt", *text}});
    self->answer(*call, std::move(reply));
  });
}

}  // namespace troupe::gateway
