// Replies of /v1/responses: one message of one text. Ids stay the same within a stream, and
// sequence numbers have no holes.
#include "gateway/http.hpp"
#include "gateway/shape.hpp"

namespace troupe::gateway {
namespace {

class ResponseShape : public Shape {
 public:
  ResponseShape(const Generation& generation, ReplyFacts facts)
      : facts_(std::move(facts)), fields_(generation.echo_fields) {}

  std::string whole(const std::vector<actors::GenerateResult>& results) override {
    return text_of(finished(results));
  }

  std::string on_delta(size_t, const actors::ClientDelta& delta) override {
    std::string out = begin();
    if (delta.text.empty()) return out;
    out += open();
    text_ += delta.text;
    return out + named({{"type", "response.output_text.delta"},
                        {"item_id", item_id()},
                        {"output_index", 0},
                        {"content_index", 0},
                        {"delta", delta.text},
                        {"logprobs", Json::array()}});
  }

  std::string on_end(const std::vector<actors::GenerateResult>& results) override {
    std::string out = begin();
    out += open();
    const bool is_complete = results.at(0).choices.at(0).finish_reason != "length";
    out += named({{"type", "response.output_text.done"},
                  {"item_id", item_id()},
                  {"output_index", 0},
                  {"content_index", 0},
                  {"text", text_},
                  {"logprobs", Json::array()}});
    out += named({{"type", "response.content_part.done"},
                  {"item_id", item_id()},
                  {"output_index", 0},
                  {"content_index", 0},
                  {"part", part(text_)}});
    out += named({{"type", "response.output_item.done"},
                  {"output_index", 0},
                  {"item", item(text_, is_complete ? "completed" : "incomplete")}});
    return out + named({{"type", is_complete ? "response.completed" : "response.incomplete"},
                        {"response", finished(results)}});
  }

  std::string on_error(const ApiError& error) override {
    Json failed = response("failed");
    const std::string code = error.status == 429 ? "rate_limit_exceeded" : "server_error";
    failed["error"] = {{"code", code}, {"message", error.message}};
    std::string out = begin();
    return out + named({{"type", "response.failed"}, {"response", std::move(failed)}});
  }

  std::string keep_alive() override { return ": still here\n\n"; }

 private:
  [[nodiscard]] std::string item_id() const { return "msg_" + facts_.id; }

  std::string named(Json body) {
    body["sequence_number"] = next_number_++;
    return event(body["type"].get<std::string>(), text_of(body));
  }

  static Json part(const std::string& text) {
    return {{"type", "output_text"},
            {"text", text},
            {"annotations", Json::array()},
            {"logprobs", Json::array()}};
  }

  [[nodiscard]] Json item(const std::string& text, const char* status) const {
    Json content = Json::array();
    if (std::string(status) != "in_progress") content.push_back(part(text));
    return {{"id", item_id()},
            {"type", "message"},
            {"status", status},
            {"role", "assistant"},
            {"content", std::move(content)}};
  }

  [[nodiscard]] Json response(const char* status) const {
    Json body = {{"id", "resp_" + facts_.id},
                 {"object", "response"},
                 {"created_at", facts_.created_s},
                 {"status", status},
                 {"error", nullptr},
                 {"incomplete_details", nullptr},
                 {"model", facts_.card->name},
                 {"output", Json::array()},
                 {"previous_response_id", nullptr},
                 {"store", false},
                 {"background", false},
                 {"text", {{"format", {{"type", "text"}}}}},
                 {"usage", nullptr}};
    for (const auto& [name, value] : fields_.items()) body[name] = value;
    return body;
  }

  [[nodiscard]] Json finished(const std::vector<actors::GenerateResult>& results) const {
    const actors::ChoiceResult& choice = results.at(0).choices.at(0);
    const bool is_complete = choice.finish_reason != "length";
    Json body = response(is_complete ? "completed" : "incomplete");
    if (!is_complete) body["incomplete_details"] = {{"reason", "max_output_tokens"}};
    body["output"].push_back(item(choice.text, is_complete ? "completed" : "incomplete"));
    const Usage usage = usage_of(results);
    body["usage"] = {
        {"input_tokens", usage.prompt_tokens},
        {"input_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
        {"output_tokens", usage.output_tokens},
        {"output_tokens_details", {{"reasoning_tokens", reasoning_tokens(results, *facts_.card)}}},
        {"total_tokens", usage.prompt_tokens + usage.output_tokens}};
    return body;
  }

  std::string begin() {
    if (std::exchange(has_begun_, true)) return {};
    std::string out = named({{"type", "response.created"}, {"response", response("in_progress")}});
    return out + named({{"type", "response.in_progress"}, {"response", response("in_progress")}});
  }

  std::string open() {
    if (std::exchange(is_open_, true)) return {};
    std::string out = named({{"type", "response.output_item.added"},
                             {"output_index", 0},
                             {"item", item("", "in_progress")}});
    return out + named({{"type", "response.content_part.added"},
                        {"item_id", item_id()},
                        {"output_index", 0},
                        {"content_index", 0},
                        {"part", part("")}});
  }

  ReplyFacts facts_;
  Json fields_;
  std::string text_;
  uint64_t next_number_ = 0;
  bool has_begun_ = false;
  bool is_open_ = false;
};

}  // namespace

std::unique_ptr<Shape> response_shape(const Generation& generation, ReplyFacts facts) {
  return std::make_unique<ResponseShape>(generation, std::move(facts));
}

}  // namespace troupe::gateway
