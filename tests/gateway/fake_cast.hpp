// A cast that answers at once what a test says, and an exchange that keeps what it is told.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "gateway/service.hpp"

namespace troupe::testing {

using gateway::Json;

inline actors::ModelCard small_card() {
  actors::ModelCard card;
  card.name = "m";
  card.context_max = 1000;
  card.output_tokens_max = 500;
  card.has_chat_template = true;
  for (int i = 0; i < 256; ++i) card.token_bytes.push_back(std::string(1, static_cast<char>(i)));
  card.token_bytes[1] = "<think>";
  card.token_bytes[2] = "</think>";
  card.vocab_size = 256;
  card.is_control.resize(256);
  return card;
}

class KeptExchange : public gateway::Exchange {
 public:
  void reply(gateway::HttpReply reply) override {
    CHECK(!is_over);
    status = reply.status;
    headers = reply.headers;
    body = reply.body;
    is_over = true;
  }
  void begin(gateway::HttpReply head) override {
    CHECK(!is_over);
    status = head.status;
    headers = head.headers;
    is_stream = true;
  }
  void write(std::string piece) override {
    CHECK(is_stream);
    body += piece;
  }
  void end() override { is_over = true; }
  void on_gone(std::function<void()> gone) override { when_gone = std::move(gone); }

  /// The data of every event; "[DONE]" as a string.
  [[nodiscard]] std::vector<Json> events() const {
    std::vector<Json> found;
    for (size_t at = 0; (at = body.find("data: ", at)) != std::string::npos;) {
      at += 6;
      const std::string data = body.substr(at, body.find('\n', at) - at);
      found.push_back(data == "[DONE]" ? Json("[DONE]") : Json::parse(data));
    }
    return found;
  }
  [[nodiscard]] Json json() const { return Json::parse(body); }
  [[nodiscard]] std::string header(const std::string& name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }

  int status = 0;
  bool is_stream = false;
  bool is_over = false;
  gateway::Headers headers;
  std::string body;
  std::function<void()> when_gone;
};

/// Each choice of each request says the pieces, one token a byte; ends with `finish`.
struct FakeCast {
  std::vector<std::string> pieces = {"Hel", "lo"};
  std::string hidden;  ///< tokens behind the text: a stop string
  std::string finish = "stop";
  std::optional<Error> failure;
  bool holds = false;  ///< says nothing until let_go()
  uint32_t prompt_tokens = 100, cached_tokens = 64, pinned_tokens = 0;
  std::vector<actors::GenerateRequest> requests;
  std::vector<actors::GenerateHandlers> handlers;
  std::vector<uint64_t> cancelled;
  std::string unready;

  void let_go() {
    for (size_t i = 0; i < handlers.size(); ++i) answer(i);
  }

  void answer(size_t index) {
    const auto told = handlers[index];
    if (failure) {
      told.on_end(*failure);
      return;
    }
    actors::GenerateResult result;
    result.prompt_tokens = prompt_tokens;
    result.cached_tokens = cached_tokens;
    result.pinned_tokens = pinned_tokens;
    for (uint32_t choice = 0; choice < requests[index].choices; ++choice) {
      actors::ChoiceResult& whole = result.choices.emplace_back();
      whole.choice = choice;
      whole.finish_reason = finish;
      for (size_t i = 0; i < pieces.size(); ++i) {
        actors::ClientDelta delta;
        delta.choice = choice;
        delta.text = pieces[i];
        delta.prompt_tokens = prompt_tokens;
        delta.cached_tokens = cached_tokens;
        delta.pinned_tokens = pinned_tokens;
        const bool is_last = i + 1 == pieces.size();
        if (is_last) delta.finish_reason = finish;
        for (const char c : pieces[i] + (is_last ? hidden : "")) {
          delta.tokens.push_back(static_cast<uint8_t>(c));
          delta.logprobs.push_back(-0.5f);
          delta.top_logprobs.push_back({{static_cast<uint8_t>(c), -0.5f}, {65, -1.5f}});
        }
        whole.text += delta.text;
        whole.token_ids.insert(whole.token_ids.end(), delta.tokens.begin(), delta.tokens.end());
        whole.logprobs.insert(whole.logprobs.end(), delta.logprobs.begin(), delta.logprobs.end());
        whole.top_logprobs.insert(whole.top_logprobs.end(), delta.top_logprobs.begin(),
                                  delta.top_logprobs.end());
        told.on_delta(delta);
      }
    }
    told.on_end(std::move(result));
  }
};

/// A service in front of a fake cast.
struct FakeService {
  explicit FakeService(gateway::AccessRules rules = {}) {
    gateway::Cast functions;
    functions.generate = [this](actors::GenerateRequest request,
                                actors::GenerateHandlers handlers) {
      cast.requests.push_back(std::move(request));
      cast.handlers.push_back(std::move(handlers));
      if (!cast.holds) cast.answer(cast.handlers.size() - 1);
      return uint64_t{cast.handlers.size()};
    };
    functions.cancel = [this](uint64_t id) { cast.cancelled.push_back(id); };
    functions.tokenize = [this](actors::GenerateRequest request, bool, auto done) {
      cast.requests.push_back(request);
      const std::string text = request.text.value_or(request.chat_json);
      done(std::vector<int32_t>(text.size(), 1));
    };
    functions.detokenize = [](const std::vector<int32_t>& tokens, auto done) {
      done(std::string(tokens.begin(), tokens.end()));
    };
    functions.card = [card = std::make_shared<const actors::ModelCard>(small_card())] {
      return card;
    };
    functions.unready = [this] { return cast.unready; };
    functions.metrics = [](gateway::MetricFamilies&) {};
    functions.later = [this](int ms, std::function<void()> run) {
      later.emplace_back(ms, std::move(run));
    };
    service = std::make_shared<gateway::Service>(std::move(rules), std::move(functions));
  }

  /// As the server would: the head first.
  std::shared_ptr<KeptExchange> ask(gateway::HttpRequest request) {
    auto exchange = std::make_shared<KeptExchange>();
    gateway::HttpReply refusal;
    if (service->refuse_head(request, refusal)) {
      exchange->reply(std::move(refusal));
    } else {
      service->handle(std::move(request), exchange);
    }
    return exchange;
  }

  std::shared_ptr<KeptExchange> post(const std::string& path, const Json& body,
                                     gateway::Headers headers = {}) {
    gateway::HttpRequest request;
    request.method = "POST";
    request.path = path;
    request.body = gateway::text_of(body);
    request.headers = std::move(headers);
    request.headers.emplace_back("host", "localhost:8080");
    request.headers.emplace_back("content-type", "application/json");
    return ask(std::move(request));
  }

  std::shared_ptr<KeptExchange> get(const std::string& path, gateway::Headers headers = {}) {
    gateway::HttpRequest request;
    request.method = "GET";
    request.path = path;
    request.headers = std::move(headers);
    request.headers.emplace_back("host", "127.0.0.1");
    return ask(std::move(request));
  }

  FakeCast cast;
  std::vector<std::pair<int, std::function<void()>>> later;  ///< what was asked for
  std::shared_ptr<gateway::Service> service;
};

inline Json chat_body() {
  return {{"model", "m"}, {"messages", Json::array({{{"role", "user"}, {"content", "Hi"}}})}};
}

inline Json messages_body() {
  Json body = chat_body();
  body["max_tokens"] = 50;
  return body;
}

/// What the service counts itself, as /metrics shows it.
inline std::string own_metrics(gateway::Service& service) {
  gateway::MetricFamilies families;
  service.counts().tell(families);
  return families.page();
}

}  // namespace troupe::testing
