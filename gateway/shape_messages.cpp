// Replies of /v1/messages. Usage in message_delta is that of the whole message, not an increment;
// the three counts of input add up to the prompt.
#include "gateway/http.hpp"
#include "gateway/shape.hpp"
#include "gateway/text_event.hpp"

namespace troupe::gateway {
namespace {

class MessagesShape : public Shape {
 public:
  MessagesShape(const Generation& generation, ReplyFacts facts)
      : facts_(std::move(facts)), stop_(generation.stop) {}

  std::string whole(const std::vector<actors::GenerateResult>& results) override {
    Json message = empty_message();
    const actors::ChoiceResult& choice = results.at(0).choices.at(0);
    if (!choice.text.empty()) {
      message["content"].push_back({{"type", "text"}, {"text", choice.text}});
    }
    const Stop stop = stop_of(choice);
    message["stop_reason"] = stop.reason;
    message["stop_sequence"] = stop.sequence;
    message["usage"] = usage_json(usage_of(results));
    return text_of(message);
  }

  std::string on_delta(size_t, const actors::ClientDelta& delta) override {
    std::string out;
    if (!has_begun_) {
      Usage usage;
      usage.prompt_tokens = delta.prompt_tokens;
      usage.cached_tokens = delta.cached_tokens;
      usage.pinned_tokens = delta.pinned_tokens;
      out += begin(usage);
    }
    if (delta.text.empty()) return out;
    if (!std::exchange(is_open_, true)) {
      out += named({{"type", "content_block_start"},
                    {"index", 0},
                    {"content_block", {{"type", "text"}, {"text", ""}}}});
    }
    text_event_.append(out, delta.text);
    return out;
  }

  std::string on_end(const std::vector<actors::GenerateResult>& results) override {
    const Usage usage = usage_of(results);
    std::string out;
    if (!has_begun_) out += begin(usage);
    if (is_open_) out += named({{"type", "content_block_stop"}, {"index", 0}});
    const Stop stop = stop_of(results.at(0).choices.at(0));
    out += named({{"type", "message_delta"},
                  {"delta", {{"stop_reason", stop.reason}, {"stop_sequence", stop.sequence}}},
                  {"usage", usage_json(usage)}});
    return out + named({{"type", "message_stop"}});
  }

  std::string on_error(const ApiError& error) override {
    return event("error", body_of(error, Dialect::anthropic));
  }

  std::string keep_alive() override {
    return has_begun_ ? named({{"type", "ping"}}) : ": still here\n\n";
  }

 private:
  struct Stop {
    std::string reason;
    Json sequence;
  };

  Stop stop_of(const actors::ChoiceResult& choice) const {
    if (choice.finish_reason == "length") return {"max_tokens", nullptr};
    const std::string matched = stop_that_matched(choice, *facts_.card, stop_);
    if (!matched.empty()) return {"stop_sequence", matched};
    return {"end_turn", nullptr};
  }

  static std::string named(const Json& body) {
    return event(body["type"].get<std::string>(), text_of(body));
  }

  Json usage_json(const Usage& usage) const {
    const uint64_t read = std::min(usage.cached_tokens, usage.prompt_tokens);
    const uint64_t kept = std::min(usage.pinned_tokens, usage.prompt_tokens);
    const uint64_t created = kept > read ? kept - read : 0;
    return {{"input_tokens", usage.prompt_tokens - read - created},
            {"cache_creation_input_tokens", created},
            {"cache_read_input_tokens", read},
            {"output_tokens", usage.output_tokens}};
  }

  Json empty_message() const {
    return {{"id", "msg_" + facts_.id},   {"type", "message"},        {"role", "assistant"},
            {"model", facts_.card->name}, {"content", Json::array()}, {"stop_reason", nullptr},
            {"stop_sequence", nullptr}};
  }

  std::string begin(const Usage& usage) {
    has_begun_ = true;
    Json message = empty_message();
    message["usage"] = usage_json(usage);
    return named({{"type", "message_start"}, {"message", std::move(message)}}) +
           named({{"type", "ping"}});
  }

  ReplyFacts facts_;
  std::vector<std::string> stop_;
  bool has_begun_ = false;
  bool is_open_ = false;  ///< the text block
  const TextEvent text_event_{"content_block_delta",
                              {{"type", "content_block_delta"},
                               {"index", 0},
                               {"delta", {{"type", "text_delta"}, {"text", TextEvent::place}}}}};
};

}  // namespace

std::unique_ptr<Shape> messages_shape(const Generation& generation, ReplyFacts facts) {
  return std::make_unique<MessagesShape>(generation, std::move(facts));
}

}  // namespace troupe::gateway
